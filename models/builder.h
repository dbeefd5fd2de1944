#pragma once
// Builds the tensors of a network: draws the initial weights, collects the parameter and batch norm
// slots in layer order, and counts parameters and multiply-adds.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace shoal::models {

class Builder {
 public:
  // Draws initial weights from `seed`. With `allocate` = false it only counts: it allocates no
  // tensors and draws nothing. `side` is the height and width of the input image in pixels, for
  // counting multiply-adds.
  Builder(uint64_t seed, bool allocate, int64_t side);

  // Each of the next three creates the float32 parameter `name` in *master and adds its slot. The
  // values are drawn from Normal(0, std), drawn from uniform(-bound, bound), or constant. 4-D
  // parameters are channels-last. `copy`: see ParameterSlot; may be nullptr.
  void normal(const std::string& name, at::IntArrayRef shape, double std, at::Tensor* master,
              at::Tensor* copy);
  void uniform(const std::string& name, at::IntArrayRef shape, double bound, at::Tensor* master);
  void constant(const std::string& name, int64_t length, double value, at::Tensor* master);
  // Adds the slot of a batch norm layer and creates its buffers: mean 0, variance 1.
  void batch_norm(const BatchNormSlot& slot, int64_t channels);

  // Adds the multiply-adds of one layer for one image to the total.
  void count(double multiply_adds) { multiply_adds_ += multiply_adds; }
  // Returns the next index for a layer that draws masks (masks.h). A layer gets the same index
  // whenever the network is built.
  uint64_t next_mask_layer() { return mask_layers_++; }

  int64_t side;  // height and width of the activations at the current layer, in pixels

  std::vector<ParameterSlot> parameters;
  std::vector<BatchNormSlot> batch_norms;
  int64_t parameter_count() const { return parameter_count_; }
  double multiply_adds() const { return multiply_adds_; }

 private:
  // Adds the slot and, if tensors are allocated, creates the tensor. Returns whether the caller
  // must fill it.
  bool add(const std::string& name, at::IntArrayRef shape, at::Tensor* master, at::Tensor* copy);

  at::Generator generator_;
  bool allocate_;
  int64_t parameter_count_ = 0;
  double multiply_adds_ = 0;
  uint64_t mask_layers_ = 0;
};

}  // namespace shoal::models
