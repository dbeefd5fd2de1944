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
  // `allocate` = false only counts: no tensor is allocated or drawn. `side` is the height and width
  // of the input image in pixels, for counting multiply-adds.
  Builder(uint64_t seed, bool allocate, int64_t side);

  // Creates a float32 parameter drawn from Normal(0, std), from uniform(-bound, bound), or
  // constant. 4-D parameters are channels-last. Adds the slot `name`; `copy` may be nullptr.
  void normal(const std::string& name, at::IntArrayRef shape, double std, at::Tensor* master,
              at::Tensor* copy);
  void uniform(const std::string& name, at::IntArrayRef shape, double bound, at::Tensor* master);
  void constant(const std::string& name, int64_t length, double value, at::Tensor* master);
  void batch_norm(const BatchNormSlot& slot, int64_t channels);

  // Adds the multiply-adds of one layer for one image.
  void count(double multiply_adds) { multiply_adds_ += multiply_adds; }
  // Returns an index for a layer that draws masks. It is the same in every build of the network.
  uint64_t next_mask_layer() { return mask_layers_++; }

  int64_t side;  // height and width of the activations at the current layer, in pixels

  std::vector<ParameterSlot> parameters;
  std::vector<BatchNormSlot> batch_norms;
  int64_t parameter_count() const { return parameter_count_; }
  double multiply_adds() const { return multiply_adds_; }

 private:
  // Adds the slot. Returns whether the caller must fill the tensor.
  bool add(const std::string& name, at::IntArrayRef shape, at::Tensor* master, at::Tensor* copy);

  at::Generator generator_;
  bool allocate_;
  int64_t parameter_count_ = 0;
  double multiply_adds_ = 0;
  uint64_t mask_layers_ = 0;
};

}  // namespace shoal::models
