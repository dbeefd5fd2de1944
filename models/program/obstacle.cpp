#include <algorithm>

#include "models/program/plan.h"

namespace shoal::models {
namespace {

// Returns, for each node, the nodes that read its output.
std::vector<std::vector<int>> readers_of(const Network& network) {
  std::vector<std::vector<int>> readers(network.nodes.size());
  for (size_t i = 0; i < network.nodes.size(); ++i)
    for (int input : network.nodes[i].inputs)
      if (input != kImages) readers[static_cast<size_t>(input)].push_back(static_cast<int>(i));
  return readers;
}

// Checks which nodes the fused kernels support.
class Check {
 public:
  explicit Check(const Network& network) : n_(network), readers_(readers_of(network)) {}

  bool supported(int i) const {
    const Node& node = n_.nodes[static_cast<size_t>(i)];
    const int input = node.inputs[0];
    if (const auto* c = operation_at<Convolution>(n_, i)) {
      return kernel_of(n_, i) != KernelKind::none &&
             readable(input, /*by_pointwise=*/c->kernel == 1 && c->stride == 1) &&
             only_reader<Norm>(i);
    }
    if (const auto* norm = operation_at<Norm>(n_, i)) {
      if (!operation_at<Convolution>(n_, input)) return false;
      const bool adds = node.inputs.size() > 1;
      const bool rectified = norm->activation == ops::Activation::relu;
      if (adds && norm->activation != ops::Activation::none && !norm->adds_last && !rectified)
        return false;
      return !adds || shares(node.inputs[1], i);
    }
    if (operation_at<MaxPool>(n_, i)) return deferred(input);
    if (operation_at<SqueezeExcite>(n_, i)) {
      const bool read =
          only_reader<Convolution>(i) && kernel_of(n_, readers(i)[0]) == KernelKind::pointwise;
      return deferred(input) && read;
    }
    if (operation_at<PooledFeatures>(n_, i))
      return operation_at<Norm>(n_, input) && only_reader<Linear>(i);
    if (const auto* l = operation_at<Linear>(n_, i)) {
      const bool last = readers(i).empty() && l->activation == ops::Activation::none;
      return (operation_at<PooledFeatures>(n_, input) || operation_at<Linear>(n_, input)) &&
             (last ? l->dropout == 0 : only_reader<Linear>(i));
    }
    return false;
  }

 private:
  const std::vector<int>& readers(int i) const { return readers_[static_cast<size_t>(i)]; }
  template <class T>
  bool only_reader(int i) const {
    return readers(i).size() == 1 && operation_at<T>(n_, readers(i)[0]);
  }
  bool deferred(int i) const {
    const auto* norm = operation_at<Norm>(n_, i);
    return norm && !is_join(n_, i);
  }
  bool readable(int i, bool by_pointwise) const {
    return i == kImages || operation_at<Norm>(n_, i) || operation_at<MaxPool>(n_, i) ||
           (by_pointwise && operation_at<SqueezeExcite>(n_, i));
  }
  // Whether `node`, the second input of `join` (is_join() in plan.h), can share the buffer for the
  // join's gradient. The output of `node` must be stored, and no other node that reads it may come
  // after the convolution that is the join's first input. Backward runs in reverse order, so such a
  // node would add its gradient before the convolution has read the buffer.
  bool shares(int node, int join) const {
    const bool stored =
        operation_at<MaxPool>(n_, node) || (operation_at<Norm>(n_, node) && is_join(n_, node));
    const int convolution = n_.nodes[static_cast<size_t>(join)].inputs[0];
    return stored && std::all_of(readers(node).begin(), readers(node).end(), [&](int reader) {
             return reader == join || reader <= convolution;
           });
  }

  const Network& n_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace

bool is_join(const Network& network, int i) {
  const auto& norm = std::get<Norm>(network.nodes[static_cast<size_t>(i)].operation);
  if (norm.activation == ops::Activation::none ||
      network.nodes[static_cast<size_t>(i)].inputs.size() > 1)
    return true;
  const auto reads = [i](const Node& node) {
    return std::count(node.inputs.begin(), node.inputs.end(), i) > 0;
  };
  return std::count_if(network.nodes.begin(), network.nodes.end(), reads) != 1;
}

KernelKind kernel_of(const Network& network, int i) {
  const Node& node = network.nodes[static_cast<size_t>(i)];
  const auto& c = std::get<Convolution>(node.operation);
  const auto& shape = network.parameters[static_cast<size_t>(c.weight)].shape;
  if (node.inputs[0] == kImages) return c.groups == 1 ? KernelKind::stem : KernelKind::none;
  if (c.kernel == 1 && c.stride == 1 && c.groups == 1) return KernelKind::pointwise;
  if (c.stride > 2) return KernelKind::none;
  if (c.groups == 1) return c.kernel <= 7 ? KernelKind::dense : KernelKind::none;
  const bool depthwise = c.groups == shape[0] && shape[1] == 1;
  return depthwise && (c.kernel == 3 || c.kernel == 5) ? KernelKind::depthwise : KernelKind::none;
}

std::string fused_obstacle(const Network& network) {
  const Check check(network);
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    if (check.supported(static_cast<int>(i))) continue;
    const Node& node = network.nodes[i];
    const std::string name = node.name.empty() ? "" : "'" + node.name + "' ";
    return "there is no fused kernel for " + name + "(" + describe(node.operation) + ")";
  }
  return "";
}

}  // namespace shoal::models
