#pragma once
// The running statistics of all batch normalisations in one buffer, and what the current step wants
// to add in another.
//
// Forward passes fold their batch statistics into `pending` (see models::BatchNormSlot). The loop
// averages pending() over the ranks beside the gradients, then commits it or not, together with
// the optimizer's step. So a step that is not committed leaves no trace, and the buffers are equal
// on every rank. Not thread-safe; belongs to the thread that trains.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace shoal::train {

class FlatStatistics {
 public:
  // Moves the buffers of `model` into flat ones on `device`; double where the parameters are
  // double, else float. Values are kept, pending starts at zero. `model` must outlive this object.
  // A model without batch norm is fine.
  FlatStatistics(models::Classifier& model, at::ScalarType type, at::Device device);
  FlatStatistics(const FlatStatistics&) = delete;
  FlatStatistics& operator=(const FlatStatistics&) = delete;

  // 1-D: per layer mean (C), variance (C), padding. pending() has the same layout.
  const at::Tensor& running() const { return running_; }
  const at::Tensor& pending() const { return pending_; }
  // "features.0.1.running_mean", "….running_var", "….num_batches_tracked", layer order.
  const std::vector<std::string>& names() const { return names_; }

  // running = (1 - momentum)^k * running + pending and num_batches_tracked += k, for k =
  // `micro_batches` training forwards since the last call; nothing where `non_finite` (int32, one
  // element, same device; undefined: 0) is not 0. pending is zeroed either way. Enqueues only: no
  // synchronisation with a GPU.
  void commit(int64_t micro_batches, const at::Tensor& non_finite);

  // As FlatParameters: contiguous CPU copies by name, from running() or a buffer of its layout (an
  // average).
  at::Tensor contiguous_copy(const std::string& name, const at::Tensor& running_buffer = {}) const;
  void load(const std::string& name, const at::Tensor& value,
            const at::Tensor& running_buffer = {});

  uint64_t hash() const;  // of running() and the batch counters

 private:
  at::Tensor find(const std::string& name, const at::Tensor& running_buffer) const;

  double momentum_;
  std::vector<std::string> names_;  // three per layer
  std::vector<int64_t> offsets_, channels_;
  at::Tensor running_, pending_, batches_tracked_;
};

}  // namespace shoal::train
