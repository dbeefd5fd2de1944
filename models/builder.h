#pragma once
// What a network is built with: draws initial weights, collects the slots in layer order and counts
// on the way.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace shoal::models {

class Builder {
 public:
  // allocate = false: nothing is allocated or drawn, only counted. `side`: pixels of the square
  // input to count for.
  Builder(uint64_t seed, bool allocate, int64_t side);

  // Normal(0, std), uniform(-bound, bound) or constant parameters in float32; 4-D ones in
  // channels-last memory. Registered as `name` in the slots; `copy` may be nullptr.
  void normal(const std::string& name, at::IntArrayRef shape, double std, at::Tensor* master,
              at::Tensor* copy);
  void uniform(const std::string& name, at::IntArrayRef shape, double bound, at::Tensor* master);
  void constant(const std::string& name, int64_t length, double value, at::Tensor* master);
  void batch_norm(const BatchNormSlot& slot, int64_t channels);

  // Notes multiply-adds of one image.
  void count(double multiply_adds) { multiply_adds_ += multiply_adds; }
  // A number for a layer that draws masks, the same in every build of the network.
  uint64_t next_mask_layer() { return mask_layers_++; }

  int64_t side;  // pixels of the (square) activations at the point reached

  std::vector<ParameterSlot> parameters;
  std::vector<BatchNormSlot> batch_norms;
  int64_t parameter_count() const { return parameter_count_; }
  double multiply_adds() const { return multiply_adds_; }

 private:
  // Registers; returns whether to fill.
  bool add(const std::string& name, at::IntArrayRef shape, at::Tensor* master, at::Tensor* copy);

  at::Generator generator_;
  bool allocate_;
  int64_t parameter_count_ = 0;
  double multiply_adds_ = 0;
  uint64_t mask_layers_ = 0;
};

}  // namespace shoal::models
