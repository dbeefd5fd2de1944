#pragma once
// Builds a network node by node. The functions for layers add a node with its parameters and
// buffers, and return the node's index. `name`: torchvision's name of the module. Does not use
// LibTorch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/network.h"

namespace shoal::models {

struct ConvolutionOptions {
  int64_t out = 0;     // channels
  int64_t kernel = 1;  // pixels, odd
  int64_t stride = 1, groups = 1;
  Padding padding = Padding::symmetric;
};

struct NormOptions {
  double eps = 1e-5, momentum = 0.1;
};

// How the weight and bias of a linear layer are initialized. by_inputs (PyTorch's default): both
// uniform in ±1/sqrt(in). by_outputs: weight uniform in ±1/sqrt(out), bias 0. small: weight normal
// with standard deviation 0.01, bias 0.
enum class LinearInit { by_inputs, by_outputs, small };

// Rounds a number of channels to the nearest multiple of 8 (at least 8), or up if rounding down
// would remove more than 10 %.
int64_t multiple_of_8(double channels);

class NetworkBuilder {
 public:
  // `channels`: of the images. `side`: their height and width, in pixels. `norm`: options of all
  // batch norm layers.
  NetworkBuilder(int64_t channels, int64_t side, const NormOptions& norm);

  // Begin a stage or a block. Layers added from then on belong to it (Traits in network.h).
  void begin_stage(const std::string& name);
  void begin_block();

  // Initializes the weight by fan-out (Kaiming): normal with standard deviation sqrt(2 / (out *
  // kernel²)).
  int convolution(const std::string& name, int input, const ConvolutionOptions& options);
  // Adds the parameters and buffers of a batch norm layer, but no node. Pass the result to norm().
  Norm norm_state(const std::string& name, int64_t channels);
  // `state`: from norm_state(), after which the caller may set activation, drop, mask_layer and
  // adds_last. `residual`: the node whose output is added; empty: none.
  int norm(const std::string& name, int input, const Norm& state, std::optional<int> residual = {});
  int norm(const std::string& name, int input, ops::Activation activation);
  // Adds a convolution "NAME.0" and a batch norm "NAME.1" with an activation.
  int conv_norm(const std::string& name, int input, const ConvolutionOptions& options,
                ops::Activation activation);
  // Adds squeeze-excite. Its two layers, fc1 and fc2, have the weight shapes of 1×1 convolutions.
  // `squeezed`: channels between them.
  int squeeze_excite(const std::string& name, int input, int64_t squeezed, bool hard = false);
  int max_pool(int input, const MaxPool& pool);
  int pooled_features(int input, double dropout);
  // `layer`: the activation, dropout and mask_layer to use; its weight is ignored.
  int linear(const std::string& name, int input, int64_t out, LinearInit init, Linear layer = {});

  // Returns the index for the next layer that draws masks (masks.h). A layer gets the same index
  // every time the network is built.
  uint64_t next_mask_layer() { return mask_layers_++; }
  Shape shape(int node) const {
    return node == kImages ? images_ : network_.nodes[static_cast<size_t>(node)].out;
  }

  // Returns the network. Call only once. The last layer must be the classifier, added by linear().
  // Sets channels, classes, classifier, parameters, multiply_adds and stages of `info`.
  Network finish(ModelInfo info);

 private:
  int add(Node node);
  int parameter(const std::string& name, std::vector<int64_t> shape, Init init, bool decays,
                bool has_copy = false);

  Network network_;
  std::vector<std::string> stages_;
  Shape images_;
  NormOptions norm_;
  int depth_ = 0;
  uint64_t mask_layers_ = 0;
};

}  // namespace shoal::models
