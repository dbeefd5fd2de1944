#include "models/network.h"

namespace shoal::models {
namespace {

struct Describe {
  std::string operator()(const Convolution& c) const {
    std::string text = c.groups > 1 ? "depthwise " : "convolution ";
    text += std::to_string(c.kernel) + "x" + std::to_string(c.kernel);
    return c.stride > 1 ? text + "/" + std::to_string(c.stride) : text;
  }
  std::string operator()(const Norm& n) const {
    switch (n.activation) {
      case ops::Activation::none:
        return "norm";
      case ops::Activation::relu:
        return "norm relu";
      case ops::Activation::relu6:
        return "norm relu6";
      case ops::Activation::silu:
        return "norm silu";
    }
    return "norm";
  }
  std::string operator()(const SqueezeExcite&) const { return "squeeze-excite"; }
  std::string operator()(const MaxPool& p) const {
    return "max pool " + std::to_string(p.kernel) + "x" + std::to_string(p.kernel) + "/" +
           std::to_string(p.stride);
  }
  std::string operator()(const PooledFeatures&) const { return "average pool"; }
  std::string operator()(const Linear&) const { return "linear"; }
};

}  // namespace

std::string describe(const Operation& operation) {
  return std::visit(Describe(), operation);
}

}  // namespace shoal::models
