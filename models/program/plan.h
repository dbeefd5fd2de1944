#pragma once
// Plans the fused step of a network: which kernel computes each node, and where its buffers are.
// Torch-free.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/network.h"
#include "ops/fused/kernels.h"

namespace shoal::models {

// Returns a message that states why the fused step cannot compute this network; empty if it can.
std::string fused_obstacle(const Network& network);

// An offset in the step's memory, in floats; -1: none.
using Place = int64_t;

// The kind of kernel that computes a node. none: the kernel of another node includes this node.
enum class Step { none, stem, pointwise, depthwise, dense, join, max_pool, pool, linear };

// Returns the operation of a node if it has type T, otherwise nullptr. `node` may be negative.
template <class T>
const T* operation_at(const Network& network, int node) {
  return node < 0 ? nullptr : std::get_if<T>(&network.nodes[static_cast<size_t>(node)].operation);
}
// Whether batch norm `norm` is a join: an operation of its own that writes its output to memory,
// usually after adding a residual. Any other batch norm has an activation and exactly one reader.
// That reader applies the batch norm and its activation while it loads its input.
bool is_join(const Network& network, int norm);
// Returns the kind of kernel for a convolution; none: there is no kernel for it.
Step step_of(const Network& network, int convolution);

// One node of the fused step. Indices are those of Network::nodes; -1: none.
struct PlannedNode {
  Step step = Step::none;
  int64_t channels = 0, height = 1, width = 1;  // of the output
  // Convolutions and pooling: the batch norm and the squeeze-excite applied while loading the
  // input. `source`: the node whose output is read from memory.
  int norm = -1, squeeze = -1, source = -1;
  int next_norm = -1;           // convolutions: the batch norm that follows
  int next_squeeze = -1;        // convolutions: the squeeze-excite after that norm
  int next_pool = -1;           // convolutions: the average pooling after that norm
  bool stored = false;          // true for joins and max pooling: the output is in memory
  int skip = -1;                // joins: the second input
  bool differentiates = false;  // this node or one before it has parameters to train
  Place output = -1;  // if step is not none; linear layers: y, then the activation's slopes
  // Joins, pooling, linear layers: the gradient of the output. Other norms:
  // ops::fused::Upstream::u.
  Place gradient = -1;
};

struct StepShape {
  int64_t images = 0, height = 0, width = 0;
  std::vector<bool> trained;  // for each parameter; evaluation: all false
  ops::fused::Storage storage = ops::fused::Storage::f32;

  bool operator==(const StepShape&) const = default;
};

struct Plan {
  std::vector<PlannedNode> nodes;
  int64_t floats = 0;  // size of the memory for outputs and gradients
};

// Plans a network that has no fused_obstacle(). Buffers that are not in use at the same time share
// memory.
Plan plan_step(const Network& network, const StepShape& shape);

// Returns the number of zeros above an image of height `size`, or left of an image of width `size`.
int64_t zeros_before(const Convolution& convolution, int64_t size);

}  // namespace shoal::models
