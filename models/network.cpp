#include "models/network.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "base/round.h"

namespace shoal::models {
namespace {

struct Describe {
  std::string operator()(const Convolution& c) const {
    std::string text = c.groups > 1 ? "depthwise " : "convolution ";
    text += std::to_string(c.kernel) + "x" + std::to_string(c.kernel);
    return c.stride > 1 ? text + "/" + std::to_string(c.stride) : text;
  }
  std::string operator()(const Norm& n) const { return activated("norm", n.activation); }
  std::string operator()(const SqueezeExcite& s) const {
    return s.hard ? "hard squeeze-excite" : "squeeze-excite";
  }
  std::string operator()(const MaxPool& p) const {
    return "max pool " + std::to_string(p.kernel) + "x" + std::to_string(p.kernel) + "/" +
           std::to_string(p.stride);
  }
  std::string operator()(const PooledFeatures&) const { return "average pool"; }
  std::string operator()(const Linear& l) const { return activated("linear", l.activation); }

  static std::string activated(const std::string& layer, ops::Activation activation) {
    switch (activation) {
      case ops::Activation::none:
        return layer;
      case ops::Activation::relu:
        return layer + " relu";
      case ops::Activation::relu6:
        return layer + " relu6";
      case ops::Activation::silu:
        return layer + " silu";
      case ops::Activation::hard_swish:
        return layer + " hard swish";
    }
    return layer;
  }
};

// Returns the side of a node's output for a square input.
int64_t output_side(const Operation& operation, int64_t side) {
  if (const auto* const convolution = std::get_if<Convolution>(&operation))
    return ceil_divide(side, convolution->stride);
  if (const auto* const pool = std::get_if<MaxPool>(&operation)) return pooled_size(*pool, side);
  const bool pooled = std::holds_alternative<PooledFeatures>(operation) ||
                      std::holds_alternative<Linear>(operation);
  return pooled ? 1 : side;
}

}  // namespace

int64_t Parameter::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void set_image_size(Network& network, int64_t side) {
  const auto pixels = [](const Shape& shape) {
    return static_cast<double>(shape.height * shape.width);
  };
  network.info.multiply_adds = 0;
  for (Node& node : network.nodes) {
    const int input = node.inputs.front();
    const int64_t from =
        input == kImages ? side : network.nodes[static_cast<size_t>(input)].out.height;
    const double before = pixels(node.out);
    node.out.height = node.out.width = output_side(node.operation, from);
    // Divides first, because the quotient is an integer and therefore exact.
    if (std::holds_alternative<Convolution>(node.operation))
      node.multiply_adds = node.multiply_adds / before * pixels(node.out);
    network.info.multiply_adds += node.multiply_adds;
  }
}

std::vector<size_t> nodes_of_parameters(const Network& network) {
  std::vector<size_t> nodes;
  for (const Parameter& parameter : network.parameters) {
    const auto owns = [&](const Node& node) {
      return !node.name.empty() && parameter.name.starts_with(node.name + ".");
    };
    const auto node = std::ranges::find_if(network.nodes, owns);
    if (node == network.nodes.end())
      throw std::logic_error("no node has the parameter " + parameter.name);
    nodes.push_back(static_cast<size_t>(node - network.nodes.begin()));
  }
  return nodes;
}

std::string describe(const Operation& operation) {
  return std::visit(Describe(), operation);
}

}  // namespace shoal::models
