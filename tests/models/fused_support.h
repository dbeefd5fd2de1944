#pragma once
// Helpers for the tests of the fused step: compute a training step with either the fused or the
// reference kernels, and compare two steps.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/executor.h"
#include "models/network_builder.h"

namespace shoal::models {

struct Case {
  int64_t batch = 4, size = 64;
  int64_t frozen_stages = 0;
  bool freeze_norms = false;
  int64_t micro_batches = 1;
  bool in_place = false;  // the fused step writes the gradients itself (StepContext)
  std::string only = {};  // prefix of the names of the parameters to train
};

struct Result {
  at::Tensor logits;
  std::vector<std::string> names;
  std::vector<at::Tensor> gradients, pending;  // a frozen parameter's gradient is undefined
};

// Fills weights and running statistics with random values, so that every layer changes its input.
void fill(Classifier& model);

Result compute(const Network& network, const Case& c, Kernels kernels, at::ScalarType type);

// Returns ||got - want|| / max(||want||, scale). `scale` allows for rounding errors that a small
// tensor inherits from larger ones.
double apart(const at::Tensor& got, const at::Tensor& want, double scale);

struct Difference {
  double logits = 0, gradients = 0, pending = 0;
  std::string worst;
};

Difference difference(const Result& got, const Result& want);

// Adds a classifier of 6 classes on node `x`, with dropout, and finishes the network.
Network with_classifier(NetworkBuilder& builder, int x, const std::string& name);
// Returns a network with 10 classes. `dropped`: the rates of dropout and stochastic depth.
Network named(const std::string& name, double dropped = 0);

// Compares the fused step in float with the reference step in double. The fused step's error may be
// ten times that of the reference step in float.
void check_equal(const Network& network, const Case& c);
// Compares the fused step in bfloat16 with the reference step in double. The fused step's error may
// be 1.5 times that of the reference step in bfloat16.
void check_bf16(const Network& network, const Case& c);

}  // namespace shoal::models
