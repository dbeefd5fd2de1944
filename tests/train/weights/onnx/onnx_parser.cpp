#include <onnx.pb.h>

#include <cstring>
#include <stdexcept>

#include "tests/train/weights/onnx/onnx_evaluator.h"

namespace shoal::test {
namespace {

template <class T>
void take_raw(const std::string& raw, std::vector<double>& values) {
  for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, raw.data() + at, sizeof value);
    values.push_back(static_cast<double>(value));
  }
}

OnnxValue value_of(const onnx::TensorProto& tensor) {
  OnnxValue value;
  value.shape.assign(tensor.dims().begin(), tensor.dims().end());
  value.integers = tensor.data_type() == onnx::TensorProto::INT64;
  if (value.integers)
    take_raw<int64_t>(tensor.raw_data(), value.values);
  else if (tensor.data_type() == onnx::TensorProto::DOUBLE)
    take_raw<double>(tensor.raw_data(), value.values);
  else
    take_raw<float>(tensor.raw_data(), value.values);
  return value;
}

OnnxNode node_of(const onnx::NodeProto& proto) {
  OnnxNode node;
  node.operation = proto.op_type();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.output = proto.output(0);
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    if (attribute.type() == onnx::AttributeProto::GRAPH) {
      OnnxBranch& branch = node.branches[attribute.name()];
      for (const auto& inner : attribute.g().node()) branch.nodes.push_back(node_of(inner));
      branch.output = attribute.g().output(0).name();
      continue;
    }
    std::vector<double>& numbers = node.numbers[attribute.name()];
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        numbers = {static_cast<double>(attribute.i())};
        break;
      case onnx::AttributeProto::FLOAT:
        numbers = {static_cast<double>(attribute.f())};
        break;
      case onnx::AttributeProto::INTS:
        numbers.assign(attribute.ints().begin(), attribute.ints().end());
        break;
      case onnx::AttributeProto::STRING:
        node.texts[attribute.name()] = attribute.s();
        break;
      default:
        throw std::runtime_error(attribute.name() + " has an unexpected type");
    }
  }
  return node;
}

}  // namespace

OnnxModel parse_onnx(const std::string& bytes) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(bytes)) throw std::runtime_error("not an ONNX model");
  OnnxModel model;
  model.ir_version = proto.ir_version();
  model.operators = proto.opset_import(0).version();
  for (const auto& entry : proto.metadata_props()) model.metadata[entry.key()] = entry.value();
  const onnx::GraphProto& graph = proto.graph();
  model.input = graph.input(0).name();
  model.output = graph.output(0).name();
  const auto& type = graph.input(0).type().tensor_type();
  model.input_type = type.elem_type();
  for (const auto& size : type.shape().dim())
    model.input_dimensions.push_back(size.has_dim_param() ? size.dim_param()
                                                          : std::to_string(size.dim_value()));
  for (const auto& tensor : graph.initializer())
    model.initializers[tensor.name()] = value_of(tensor);
  for (const auto& node : graph.node()) model.nodes.push_back(node_of(node));
  return model;
}

}  // namespace shoal::test
