#include "train/step/state/ema.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <stdexcept>

namespace shoal::train {
namespace {

void exchange(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor saved = a.clone();
  a.copy_(b);
  b.copy_(saved);
}

}  // namespace

double ema_decay(const EmaOptions& options, int64_t step) {
  if (!options.warmup) return options.decay;
  const auto t = static_cast<double>(step);
  return std::min(options.decay, (1 + t) / (10 + t));
}

Ema::Ema(const EmaOptions& options, FlatParameters& parameters, FlatStatistics& statistics)
    : options_(options), flat_(parameters), statistics_(statistics) {
  if (options.decay == 0) throw std::invalid_argument("the decay of an average must be above 0");
  at::NoGradGuard no_grad;
  average_ = parameters.flat().clone();
  running_average_ = statistics.running().clone();
}

void Ema::update(int64_t step, const at::Tensor& non_finite) {
  const double decay = ema_decay(options_, step);
  const int32_t* stop = non_finite.defined() ? non_finite.const_data_ptr<int32_t>() : nullptr;
  const ops::Table& table = flat_.table();
  table.ema(flat_.type(), average_.mutable_data_ptr(), flat_.flat().const_data_ptr(), flat_.total(),
            decay, stop, flat_.stream());
  const at::Tensor& running = statistics_.running();
  const ops::Type type = running.scalar_type() == at::kDouble ? ops::Type::f64 : ops::Type::f32;
  table.ema(type, running_average_.mutable_data_ptr(), running.const_data_ptr(), running.numel(),
            decay, stop, flat_.stream());
}

void Ema::swap() {
  at::NoGradGuard no_grad;
  exchange(average_, flat_.flat());
  exchange(running_average_, statistics_.running());
  flat_.refresh_copies();
  swapped_ = !swapped_;
}

}  // namespace shoal::train
