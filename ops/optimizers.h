#pragma once
// Properties of the optimizers, for options, checkpoints and memory estimates. optimizers.def
// contains the rows of the table, optimizer_rules.h the arithmetic.

namespace shoal::ops {

constexpr int kMaxOptimizerStates = 2;

// The options that an optimizer reads, and its kind of weight decay, as flags.
enum OptimizerUses : unsigned {
  kUsesMomentum = 1,
  kUsesNesterov = 2,
  kUsesAlpha = 4,
  kUsesBetas = 8,
  kUsesEps = 16,
  kL2Decay = 32,         // weight decay is added to the gradient
  kDecoupledDecay = 64,  // weight decay is added to the change of the parameter
};

// A buffer with one value per parameter element.
struct OptimizerState {
  const char* name = nullptr;
  double initial = 0;      // value of all elements before the first step
  unsigned only_with = 0;  // kUsesMomentum: the buffer exists only if momentum != 0; 0: always
};

enum class OptimizerKind : int {
#define OPTIMIZER(name, ...) name,
#include "ops/optimizers.def"
};

// A row of optimizers.def.
struct OptimizerInfo {
  OptimizerKind kind;
  const char* name;
  const char* title;
  const char* variant;
  double eps;  // default
  unsigned uses;
  OptimizerState states[kMaxOptimizerStates];  // unused ones have no name

  // Whether buffer `i` exists. Buffers that exist come before those that do not.
  constexpr bool has_state(int i, double momentum) const {
    return states[i].name != nullptr && (states[i].only_with == 0 || momentum != 0);
  }
};

// In the order of OptimizerKind.
constexpr OptimizerInfo kOptimizers[] = {
#define OPTIMIZER(name, Rule, title, variant, eps, uses, ...) \
  {OptimizerKind::name, #name, title, variant, eps, uses, {__VA_ARGS__}},
#include "ops/optimizers.def"
};
constexpr int kOptimizerCount = sizeof(kOptimizers) / sizeof(kOptimizers[0]);

constexpr const OptimizerInfo& info_of(OptimizerKind kind) {
  return kOptimizers[static_cast<int>(kind)];
}

}  // namespace shoal::ops
