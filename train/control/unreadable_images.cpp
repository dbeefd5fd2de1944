#include "train/control/unreadable_images.h"

#include <algorithm>

#include "base/log.h"

namespace shoal::train {

int64_t UnreadableImages::fresh(int64_t in_all) {
  const int64_t more = in_all - told_;
  told_ = in_all;
  return more;
}

std::string UnreadableImages::heard(int64_t more, int64_t step_in_epoch) {
  in_epoch_ += more;
  // How many there are is not always known: of the first ten thousand a hundred may be damaged.
  const int64_t seen = step_in_epoch * job_.global_batch_size;
  const int64_t all = job_.open_ended ? std::max<int64_t>(seen, 10'000) : job_.train_images;
  if (static_cast<double>(in_epoch_) <= 0.01 * static_cast<double>(all)) return "";
  return strf(
      "%lld of %lld training images could not be read, more than 1 %%; the log names "
      "them. Repair or replace them and continue with --resume; without them a run starts anew",
      static_cast<long long>(in_epoch_), static_cast<long long>(all));
}

}  // namespace shoal::train
