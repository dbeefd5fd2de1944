#pragma once
// Two buffers: the running statistics of all batch norm layers, and `pending`, the values that the
// current step adds to them.
//
// Forward passes add their batch statistics to `pending` (see models::BatchNormSlot). The trainer
// averages pending() over the ranks, like the gradients. It then commits pending() and the
// optimizer's step together, or neither of them. So a step that is not committed has no effect, and
// the buffers are equal on every rank. Not thread-safe; use it from the training thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace shoal::train {

class FlatStatistics {
 public:
  // Copies the batch norm buffers of `model` into a new buffer on `device` and makes them views of
  // it. `type` is double if the parameters are double, otherwise float. pending() starts at zero.
  // `model` must outlive this object. A model without batch norm is allowed.
  FlatStatistics(models::Classifier& model, at::ScalarType type, at::Device device);
  FlatStatistics(const FlatStatistics&) = delete;
  FlatStatistics& operator=(const FlatStatistics&) = delete;

  // The buffers, 1-D. For each layer: mean (C elements, one per channel), variance (C), padding.
  const at::Tensor& running() const { return running_; }
  const at::Tensor& pending() const { return pending_; }
  // "features.0.1.running_mean", "….running_var", "….num_batches_tracked", in layer order.
  const std::vector<std::string>& names() const { return names_; }

  // Layers whose entry is true keep their running statistics: training uses them as constants, and
  // commit() leaves them alone. Initially no layer is fixed.
  void fix(const std::vector<bool>& fixed);
  // Returns the stage of each layer (models::Statistics).
  const std::vector<int>& stages() const { return stages_; }

  // Sets running = (1 - momentum)^k * running + pending and num_batches_tracked += k, where k is
  // `micro_batches`, the number of training forwards since the last call. Changes nothing if
  // `non_finite` (int32, one element, same device; undefined means 0) is not 0. Zeroes pending in
  // either case. On a GPU, only enqueues work.
  void commit(int64_t micro_batches, const at::Tensor& non_finite);

  // Like FlatParameters::view(), contiguous_copy() and load(), for running() or a buffer with the
  // same layout (an average). `index`: of a name.
  at::Tensor view(size_t index, const at::Tensor& running_buffer) const;
  at::Tensor contiguous_copy(const std::string& name, const at::Tensor& running_buffer = {}) const;
  void load(const std::string& name, const at::Tensor& value,
            const at::Tensor& running_buffer = {});

 private:
  size_t index_of(const std::string& name) const;

  struct Range {  // elements [begin, end) and layers [first_layer, last_layer)
    int64_t begin, end, first_layer, last_layer;
  };

  double momentum_;
  std::vector<bool*> fixed_;
  std::vector<int> stages_;
  std::vector<Range> trained_;      // one per group of consecutive layers that are not fixed
  std::vector<std::string> names_;  // three per layer
  std::vector<int64_t> offsets_, channels_;
  at::Tensor running_, pending_, batches_tracked_;
};

}  // namespace shoal::train
