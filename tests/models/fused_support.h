#pragma once
// Helpers for the tests of the fused step: one training step by either kernels, and how far apart
// two steps are.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/executor.h"

namespace shoal::models {

struct Case {
  int64_t batch = 4, size = 64;
  int64_t frozen_stages = 0;
  bool freeze_norms = false;
  int64_t micro_batches = 1;
  std::string only = {};  // trains only parameters whose names begin so
};

struct Result {
  at::Tensor logits;
  std::vector<std::string> names;
  std::vector<at::Tensor> gradients, pending;  // undefined: not trained
};

// Draws weights and running statistics that no layer passes through unchanged.
void fill(Classifier& model);

Result compute(const Network& network, const Case& c, Kernels kernels, at::ScalarType type);

// Returns the difference relative to `want`; tensors much smaller than `scale` count as that large,
// because rounding errors of larger ones reach them.
double apart(const at::Tensor& got, const at::Tensor& want, double scale);

struct Difference {
  double logits = 0, gradients = 0, pending = 0;
  std::string worst;
};

Difference difference(const Result& got, const Result& want);

// Returns a network with 10 classes. `dropped`: the rates of dropout and stochastic depth.
Network named(const std::string& name, double dropped = 0);

// Compares with the reference in double, allowing ten times the error of the reference in float.
void check_equal(const Network& network, const Case& c);
// The same in bfloat16, allowing 1.5 times the error of the reference in it.
void check_bf16(const Network& network, const Case& c);

}  // namespace shoal::models
