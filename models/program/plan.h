#pragma once
// Plans the fused step of a network: which kernel computes each node, and where its buffers are.
// Does not use LibTorch.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/network.h"
#include "ops/fused/kernels.h"

namespace shoal::models {

// Returns why the fused step cannot compute this network, as an error message; empty if it can.
std::string fused_obstacle(const Network& network);

// An offset in the step's memory, in floats; -1: none.
using Place = int64_t;

// The kind of kernel that computes a node. none: another node's kernel also computes this node.
enum class KernelKind { none, stem, pointwise, depthwise, dense, join, max_pool, pool, linear };

// Returns the operation of a node if it has type T, otherwise (or if `node` is negative) nullptr.
template <class T>
const T* operation_at(const Network& network, int node) {
  return node < 0 ? nullptr : std::get_if<T>(&network.nodes[static_cast<size_t>(node)].operation);
}
// Whether batch norm `norm` is a join: it has its own kernel, which usually adds a residual and
// stores the output. Any other batch norm has an activation and exactly one reader. The reader's
// kernel applies batch norm and activation while it loads its input.
bool is_join(const Network& network, int norm);
// Returns the kind of kernel for a convolution. Here, none means that there is no kernel for it.
KernelKind kernel_of(const Network& network, int convolution);

// One node of the fused step. All int fields are indices into Network::nodes; -1: none.
struct PlannedNode {
  KernelKind kernel = KernelKind::none;
  int64_t channels = 0, height = 1, width = 1;  // of the output
  // norm, squeeze: the batch norm and squeeze-excite that a convolution or pooling applies while it
  // loads its input. source: the node whose output this node reads from memory.
  int norm = -1, squeeze = -1, source = -1;
  int next_norm = -1;           // convolutions: the batch norm that follows
  int next_squeeze = -1;        // convolutions: the squeeze-excite after that batch norm
  int next_pool = -1;           // convolutions: the average pooling after that batch norm
  bool stored = false;          // true for joins and max pooling: readers load their output as is
  int skip = -1;                // joins: the second input
  bool differentiates = false;  // runs backward: it or a node before it has trained parameters
  // Where the output is; -1 if `kernel` is none. Hidden linear layers: the slopes of the activation
  // follow the output.
  Place output = -1;
  // Joins, pooling and linear layers: the gradient of the output. Batch norms that are not joins:
  // the gradient times the activation's slope (`u` of Downstream in ops/fused/kernels.h).
  Place gradient = -1;
};

struct StepShape {
  int64_t images = 0, height = 0, width = 0;
  std::vector<bool> trained;  // whether each parameter is trained; all false in evaluation
  ops::fused::Storage storage = ops::fused::Storage::f32;

  bool operator==(const StepShape&) const = default;
};

struct Plan {
  std::vector<PlannedNode> nodes;
  int64_t floats = 0;  // size of the memory for outputs and gradients
};

// Plans the step. `network` must have no fused_obstacle(). Buffers that are not in use at the same
// time share memory.
Plan plan_step(const Network& network, const StepShape& shape);

// Returns the number of padding zeros above an image of height `size`, or left of an image of width
// `size`.
int64_t zeros_before(const Convolution& convolution, int64_t size);

}  // namespace shoal::models
