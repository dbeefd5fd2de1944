#include "train/weights/onnx/onnx_file.h"

#include <stdexcept>

#include "train/weights/onnx/onnx_graph.h"
#include "train/weights/onnx/onnx_preprocessing.h"

namespace shoal::train {
namespace {

using Values = std::vector<int64_t>;

// Adds the ONNX nodes of a network. Each operator() adds the nodes of one operation, whose inputs
// are x_ and residual_, and returns the name of its output.
class Writer {
 public:
  Writer(OnnxGraph& graph, const models::Network& network, const FindTensor& find)
      : graph_(graph), network_(network), find_(find) {}

  void write(const std::string& images) {
    std::vector<std::string> outputs;
    for (const models::Node& node : network_.nodes) {
      const auto input = [&](size_t i) {
        const int index = node.inputs[i];
        return index == models::kImages ? images : outputs[static_cast<size_t>(index)];
      };
      graph_.set_scope(node.name);
      x_ = input(0);
      residual_ = node.inputs.size() > 1 ? input(1) : "";
      outputs.push_back(std::visit(*this, node.operation));
    }
  }

  std::string operator()(const models::Convolution& c) {
    OnnxGraph::Attributes attributes = {{"kernel_shape", Values{c.kernel, c.kernel}},
                                        {"strides", Values{c.stride, c.stride}},
                                        {"group", c.groups}};
    if (c.padding == models::Padding::same)
      attributes.emplace_back("auto_pad", "SAME_UPPER");
    else
      attributes.emplace_back("pads", Values(4, (c.kernel - 1) / 2));
    return graph_.node("Conv", {x_, parameter(c.weight)}, attributes);
  }

  std::string operator()(const models::Norm& n) {
    const models::Statistics& statistics = network_.statistics[static_cast<size_t>(n.statistics)];
    const std::string y =
        graph_.node("BatchNormalization",
                    {x_, parameter(n.weight), parameter(n.weight + 1),
                     tensor(statistics.name + ".running_mean", {statistics.channels}),
                     tensor(statistics.name + ".running_var", {statistics.channels})},
                    {{"epsilon", static_cast<float>(n.eps)}});
    if (residual_.empty()) return activated(y, n.activation);
    if (n.adds_last) return graph_.node("Add", {activated(y, n.activation), residual_});
    return activated(graph_.node("Add", {y, residual_}), n.activation);
  }

  std::string operator()(const models::SqueezeExcite& s) {
    const std::string mean = graph_.node("GlobalAveragePool", {x_});
    const std::string hidden =
        activated(graph_.node("Conv", {mean, parameter(s.weight), parameter(s.weight + 1)}),
                  s.hard ? ops::Activation::relu : ops::Activation::silu);
    const std::string excited =
        graph_.node("Conv", {hidden, parameter(s.weight + 2), parameter(s.weight + 3)});
    const std::string gate = s.hard ? graph_.node("HardSigmoid", {excited}, {{"alpha", 1.0F / 6}})
                                    : graph_.node("Sigmoid", {excited});
    return graph_.node("Mul", {x_, gate});
  }

  std::string operator()(const models::MaxPool& p) {
    return graph_.node("MaxPool", {x_},
                       {{"kernel_shape", Values{p.kernel, p.kernel}},
                        {"strides", Values{p.stride, p.stride}},
                        {"pads", Values(4, p.padding)}});
  }

  std::string operator()(const models::PooledFeatures&) {
    return graph_.node("Flatten", {graph_.node("GlobalAveragePool", {x_})});
  }

  std::string operator()(const models::Linear& l) {
    return activated(graph_.node("Gemm", {x_, parameter(l.weight), parameter(l.weight + 1)},
                                 {{"transB", int64_t{1}}}),
                     l.activation);
  }

 private:
  std::string activated(const std::string& x, ops::Activation activation) {
    switch (activation) {
      case ops::Activation::none:
        return x;
      case ops::Activation::relu:
        return graph_.node("Relu", {x});
      case ops::Activation::relu6:
        return graph_.node("Clip", {x, graph_.scalar(0.0F), graph_.scalar(6.0F)});
      case ops::Activation::silu:
        return graph_.node("Mul", {x, graph_.node("Sigmoid", {x})});
      case ops::Activation::hard_swish:
        return graph_.node("HardSwish", {x});
    }
    return x;
  }

  std::string parameter(int index) {
    const models::Parameter& parameter = network_.parameters[static_cast<size_t>(index)];
    return tensor(parameter.name, parameter.shape);
  }

  std::string tensor(const std::string& name, const Values& shape) {
    size_t elements = 1;
    for (const int64_t size : shape) elements *= static_cast<size_t>(size);
    const std::span<const float> values = find_(name);
    if (values.size() != elements)
      throw std::runtime_error("tensor '" + name + "' has " + std::to_string(values.size()) +
                               " elements, " + network_.info.name + " needs " +
                               std::to_string(elements));
    return graph_.tensor(name, values, shape);
  }

  OnnxGraph& graph_;
  const models::Network& network_;
  const FindTensor& find_;
  std::string x_, residual_;  // inputs of the current node; residual_: may be empty
};

}  // namespace

std::string onnx_file(const models::Network& network, const FindTensor& find,
                      const OnnxOptions& options) {
  OnnxGraph graph(network.info.name);
  const OnnxDimension batch =
      options.dynamic_batch ? OnnxDimension("batch") : OnnxDimension(int64_t{1});
  const int64_t size = options.evaluation.eval_size;
  const std::string images =
      options.with_preprocessing
          ? add_preprocessing(graph, batch, options.evaluation)
          : graph.input("images", OnnxType::f32, {batch, network.info.channels, size, size});
  Writer(graph, network, find).write(images);
  graph.output("logits", {batch, network.info.classes});
  for (const auto& [key, value] : options.metadata) graph.describe(key, value);
  return graph.bytes();
}

}  // namespace shoal::train
