#include "train/run/data_hash.h"

#include <ATen/ops/full.h>

#include "base/log.h"

namespace shoal::train {

void log_data_hash(const ResolvedJob& job, int64_t epoch, int64_t first_step, uint64_t hash,
                   const dist::Group& group) {
  if (job.log_level != "debug") return;
  // The sum is modulo 2^64.
  at::Tensor sum = at::full({1}, static_cast<int64_t>(hash), at::TensorOptions(at::kLong));
  group.all_reduce_sum(sum);
  log::debug(strf("epoch %ld from step %ld: data hash %016llx", epoch, first_step,
                  static_cast<unsigned long long>(sum.item<int64_t>())));
}

}  // namespace shoal::train
