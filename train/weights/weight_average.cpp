#include "train/weights/weight_average.h"

#include <stdexcept>

namespace shoal::train {

void WeightAverage::add(const NamedTensors& weights) {
  if (count_ > 0 && weights.size() != sums_.size())
    throw std::logic_error("averaged weights have different tensors");
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto& [name, value] = weights[i];
    if (count_ == 0) {
      sums_.emplace_back(
          name, value.is_floating_point() ? value.to(at::kDouble, false, true) : value.clone());
      types_.push_back(value.scalar_type());
      continue;
    }
    if (sums_[i].first != name || sums_[i].second.sizes() != value.sizes())
      throw std::logic_error("averaged weights have different tensors: " + name);
    if (value.is_floating_point())
      sums_[i].second.add_(value);
    else
      sums_[i].second.copy_(value);
  }
  ++count_;
}

NamedTensors WeightAverage::mean_with(const NamedTensors& more) const {
  WeightAverage larger;
  for (const auto& [name, value] : sums_) larger.sums_.emplace_back(name, value.clone());
  larger.types_ = types_;
  larger.count_ = count_;
  larger.add(more);
  return larger.mean();
}

NamedTensors WeightAverage::mean() const {
  NamedTensors means;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const auto& [name, sum] = sums_[i];
    means.emplace_back(name, sum.is_floating_point()
                                 ? sum.div(static_cast<double>(count_)).to(types_[i])
                                 : sum.clone());
  }
  return means;
}

}  // namespace shoal::train
