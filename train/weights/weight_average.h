#pragma once
// The mean of the weights of several checkpoints of one model.

#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Sums in float64. All tensor lists must have the same names and shapes. For integer tensors, such
// as num_batches_tracked, keeps the last ones added.
class WeightAverage {
 public:
  void add(const NamedTensors& weights);
  // Returns the mean over all added tensors and `more`, with the dtypes of the first call of add().
  NamedTensors mean_with(const NamedTensors& more) const;
  NamedTensors mean() const;  // over the added tensors; add() must have been called

 private:
  NamedTensors sums_;  // float64; integer tensors: the last ones added
  std::vector<at::ScalarType> types_;
  int64_t count_ = 0;
};

}  // namespace shoal::train
