#include "train/step/state/flat_statistics.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <stdexcept>

#include "base/round.h"
#include "train/step/state/flat_parameters.h"

namespace shoal::train {
FlatStatistics::FlatStatistics(models::Classifier& model, at::ScalarType type, at::Device device)
    : momentum_(model.info().batch_norm_momentum) {
  at::NoGradGuard no_grad;
  const std::vector<models::BatchNormSlot> slots = model.batch_norms();
  int64_t end = 0;
  for (const models::BatchNormSlot& slot : slots) {
    const int64_t channels = slot.running_mean->numel();
    offsets_.push_back(end);
    channels_.push_back(channels);
    end += round_up(2 * channels, kFlatAlignment);
    for (const char* leaf : {".running_mean", ".running_var", ".num_batches_tracked"}) {
      names_.push_back(slot.name + leaf);
    }
  }
  const auto place = at::TensorOptions().device(device);
  running_ = at::zeros({end}, place.dtype(type));
  pending_ = at::zeros({end}, place.dtype(type));
  batches_tracked_ = at::zeros({static_cast<int64_t>(slots.size())}, place.dtype(at::kLong));

  // Unlike parameters, buffers need no gradients, so assignment can replace the layer's tensors.
  for (size_t i = 0; i < slots.size(); ++i) {
    const int64_t channels = channels_[i];
    at::Tensor mean = running_.narrow(0, offsets_[i], channels);
    at::Tensor variance = running_.narrow(0, offsets_[i] + channels, channels);
    at::Tensor tracked = batches_tracked_[static_cast<int64_t>(i)];
    mean.copy_(*slots[i].running_mean);
    variance.copy_(*slots[i].running_var);
    tracked.copy_(*slots[i].num_batches_tracked);
    *slots[i].running_mean = mean;
    *slots[i].running_var = variance;
    *slots[i].num_batches_tracked = tracked;
    *slots[i].pending = pending_.narrow(0, offsets_[i], 2 * channels).view({2, channels});
    fixed_.push_back(slots[i].fixed);
    stages_.push_back(slots[i].stage);
  }
  fix(std::vector<bool>(slots.size()));
}

void FlatStatistics::fix(const std::vector<bool>& fixed) {
  trained_.clear();
  for (size_t i = 0; i < fixed.size(); ++i) {
    *fixed_[i] = fixed[i];
    if (fixed[i]) continue;
    const auto layer = static_cast<int64_t>(i);
    const int64_t end = i + 1 < offsets_.size() ? offsets_[i + 1] : running_.numel();
    if (trained_.empty() || trained_.back().last_layer != layer)
      trained_.push_back({offsets_[i], end, layer, layer});
    trained_.back().end = end;
    trained_.back().last_layer = layer + 1;
  }
}

void FlatStatistics::commit(int64_t micro_batches, const at::Tensor& non_finite) {
  at::NoGradGuard no_grad;
  const double keep = std::pow(1 - momentum_, static_cast<double>(micro_batches));
  const bool on_host = running_.device().is_cpu();
  for (const Range& range : trained_) {
    at::Tensor running = running_.slice(0, range.begin, range.end);
    at::Tensor tracked = batches_tracked_.slice(0, range.first_layer, range.last_layer);
    const at::Tensor pending = pending_.slice(0, range.begin, range.end);
    if (!non_finite.defined() || on_host) {
      if (!non_finite.defined() || *non_finite.const_data_ptr<int32_t>() == 0) {
        running.mul_(keep).add_(pending);
        tracked.add_(micro_batches);
      }
    } else {  // the flag is on the device, and the host must not wait for it
      const at::Tensor stop = non_finite.ne(0);
      running.copy_(at::where(stop, running, running.mul(keep).add(pending)));
      tracked.add_(stop.logical_not().to(at::kLong).mul(micro_batches));
    }
  }
  pending_.zero_();
}

at::Tensor FlatStatistics::contiguous_copy(const std::string& name,
                                           const at::Tensor& running_buffer) const {
  at::NoGradGuard no_grad;
  at::Tensor copy;
  copy_to_cpu(view(index_of(name), running_buffer), copy);
  return copy;
}

void FlatStatistics::load(const std::string& name, const at::Tensor& value,
                          const at::Tensor& running_buffer) {
  at::NoGradGuard no_grad;
  at::Tensor target = view(index_of(name), running_buffer);
  if (value.sizes() != target.sizes()) {
    throw std::runtime_error("buffer '" + name + "' has " + std::to_string(target.numel()) +
                             " values in the model but " + std::to_string(value.numel()) +
                             " in the file");
  }
  target.copy_(value);
}

at::Tensor FlatStatistics::view(size_t index, const at::Tensor& running_buffer) const {
  const at::Tensor& flat = running_buffer.defined() ? running_buffer : running_;
  const size_t layer = index / 3;
  if (index % 3 == 2) return batches_tracked_[static_cast<int64_t>(layer)];
  const int64_t second = index % 3 == 1 ? channels_[layer] : 0;
  return flat.narrow(0, offsets_[layer] + second, channels_[layer]);
}

size_t FlatStatistics::index_of(const std::string& name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return i;
  }
  throw std::out_of_range("the model has no buffer '" + name + "'");
}

}  // namespace shoal::train
