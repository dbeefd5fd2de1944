#pragma once
// The mean of the weights of several checkpoints of one model.

#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Sums in float64. Integer tensors, such as num_batches_tracked, are not averaged: the last ones
// added are kept. All lists must have the same names and shapes, otherwise throws std::logic_error.
class WeightAverage {
 public:
  void add(const NamedTensors& weights);
  // Returns the mean as if `more` had been added, too. Tensors have the dtypes of the first add().
  NamedTensors mean_with(const NamedTensors& more) const;
  NamedTensors mean() const;  // requires an earlier add()

 private:
  NamedTensors sums_;  // float64; integer tensors: the last ones added
  std::vector<at::ScalarType> types_;
  int64_t count_ = 0;
};

}  // namespace shoal::train
