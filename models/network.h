#pragma once
// A network as data: its operations, and the parameters and buffers that they read. executor.h runs
// it; other code counts its operations, lists its layers or exports it. Does not use LibTorch.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/round.h"
#include "models/model_options.h"
#include "ops/ops.h"

namespace shoal::models {

// Channels, height and width of one image's activations. Height and width are 1 from PooledFeatures
// on.
struct Shape {
  int64_t channels = 0, height = 1, width = 1;
};

// How a parameter is initialized. normal: drawn with mean 0 and standard deviation `value`.
// uniform: drawn from -value to value. constant: set to `value`.
struct Init {
  enum class Kind { normal, uniform, constant } kind = Kind::constant;
  double value = 0;
};

// Properties of a parameter that affect its training. Whether it is trained depends on the run's
// options, not on the network: see train/step/trained.h.
struct Traits {
  bool decays = true;  // weight decay applies; false for biases and batch norm
  bool norm = false;   // belongs to a batch norm layer
  int depth = 0;       // index of its block, counted from the input; the stem is 0
  int stage = 0;       // index into ModelInfo::stages
};

struct Parameter {
  std::string name;            // torchvision's name, such as "features.0.0.weight"
  std::vector<int64_t> shape;  // a 4-D parameter is stored channels-last
  Init init;
  Traits traits;
  bool has_copy = false;  // whether its layer can use a bf16 copy of it

  int64_t elements() const;
};

// The buffers of one batch norm layer.
struct Statistics {
  std::string name;  // such as "features.0.1"
  int64_t channels = 0;
  int stage = 0;  // index into ModelInfo::stages
};

// The operations. Fields named `weight` are indices into Network::parameters.

enum class Padding {
  symmetric,  // (kernel - 1) / 2 on every side
  same,       // TensorFlow's SAME: ceil(size / stride) outputs; see same_padding()
};

// Returns the number of zeros that Padding::same adds to a row or column of `size` pixels. Half of
// them, rounded down, come before the pixels, the others after.
constexpr int64_t same_padding(int64_t kernel, int64_t stride, int64_t size) {
  const int64_t needed = (ceil_divide(size, stride) - 1) * stride + kernel;
  return needed > size ? needed - size : 0;
}

struct Convolution {  // without bias
  int weight;
  int64_t kernel, stride, groups;
  Padding padding;
};

// y = activation(batch_norm(x) [+ residual]), or activation(batch_norm(x)) + residual if
// `adds_last`. The residual is the node's second input. `drop`: probability that training
// keeps only the residual of an image (stochastic depth). mask_layer: see masks.h.
struct Norm {
  int weight;      // the next parameter is the bias
  int statistics;  // index into Network::statistics
  ops::Activation activation;
  double eps, momentum;
  double drop = 0;
  uint64_t mask_layer = 0;
  bool adds_last = false;
};

// y = x * sigmoid(fc2(silu(fc1(mean of x over the pixels)))). `hard`: with relu instead of silu,
// and relu6(z + 3) / 6 instead of sigmoid(z).
struct SqueezeExcite {
  int weight;  // fc1's weight; the next parameters are fc1's bias, fc2's weight and fc2's bias
  bool hard = false;
};

struct MaxPool {
  int64_t kernel, stride, padding;
};
// Returns the height (or width) of the output for an input with height (or width) `size`.
constexpr int64_t pooled_size(const MaxPool& pool, int64_t size) {
  return (size + 2 * pool.padding - pool.kernel) / pool.stride + 1;
}

// Mean over the pixels, then dropout in training.
struct PooledFeatures {
  double dropout;
  uint64_t mask_layer;
};

// A fully connected layer with bias, followed by the activation and, in training, by dropout.
struct Linear {
  int weight;  // the next parameter is the bias
  ops::Activation activation = ops::Activation::none;
  double dropout = 0;
  uint64_t mask_layer = 0;
};

using Operation = std::variant<Convolution, Norm, SqueezeExcite, MaxPool, PooledFeatures, Linear>;

struct Node {
  std::string name;         // torchvision's module name; empty: it has none
  std::vector<int> inputs;  // indices of earlier nodes; kImages: the images
  Shape out;                // for images of ModelInfo::eval_size; set_image_size() changes it
  Operation operation;
  double multiply_adds = 0;  // forward pass of one image; image size as for `out`
};

constexpr int kImages = -1;  // in Node::inputs: the images

// The last node computes the logits.
struct Network {
  std::vector<Node> nodes;             // sorted: each node comes after its inputs
  std::vector<Parameter> parameters;   // in the order of torchvision's parameters()
  std::vector<Statistics> statistics;  // in the order of torchvision's buffers()
  ModelInfo info;
};

// Sets the shapes and multiply-adds of all nodes, and the network's total multiply-adds, for images
// of `side` x `side` pixels.
void set_image_size(Network& network, int64_t side);

// Returns the index of the node that each parameter belongs to.
std::vector<size_t> nodes_of_parameters(const Network& network);

// Returns a short description of an operation for listings, such as "convolution 3x3/2".
std::string describe(const Operation& operation);

}  // namespace shoal::models
