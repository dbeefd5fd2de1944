#include "train/weights/onnx/onnx_graph.h"

#include <onnx.pb.h>

#include <bit>
#include <limits>
#include <set>
#include <stdexcept>

namespace shoal::train {
namespace {

// The opset of exported files. The installed onnx.proto may be older than this opset. That does not
// matter: it describes only the file format, not the operators.
constexpr int64_t kOperators = 18;

static_assert(static_cast<int>(OnnxType::f32) == onnx::TensorProto::FLOAT);
static_assert(static_cast<int>(OnnxType::u8) == onnx::TensorProto::UINT8);
static_assert(static_cast<int>(OnnxType::i64) == onnx::TensorProto::INT64);
static_assert(static_cast<int>(OnnxType::f64) == onnx::TensorProto::DOUBLE);
static_assert(std::endian::native == std::endian::little);  // the byte order of ONNX

void set_type(onnx::ValueInfoProto& value, OnnxType type, const std::vector<OnnxDimension>& shape) {
  onnx::TypeProto_Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type));
  for (const OnnxDimension& dimension : shape) {
    auto& added = *tensor.mutable_shape()->add_dim();
    if (const auto* size = std::get_if<int64_t>(&dimension))
      added.set_dim_value(*size);
    else
      added.set_dim_param(std::get<std::string>(dimension));
  }
}

struct SetAttribute {
  onnx::AttributeProto& attribute;

  void operator()(int64_t value) const {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  void operator()(float value) const {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  void operator()(const std::string& value) const {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
  }
};

}  // namespace

struct OnnxGraph::Model {
  onnx::ModelProto proto;
  std::set<std::string> names;
  onnx::GraphProto* graph = proto.mutable_graph();  // new nodes go here: the model's or a branch's

  template <class T>
  void add_tensor(const std::string& name, OnnxType type, std::span<const T> values,
                  const std::vector<int64_t>& shape) {
    onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(static_cast<int>(type));
    for (const int64_t size : shape) tensor.add_dims(size);
    tensor.set_raw_data(values.data(), values.size_bytes());
  }
};

OnnxGraph::OnnxGraph(const std::string& name) : model_(std::make_unique<Model>()) {
  onnx::ModelProto& proto = model_->proto;
  proto.set_ir_version(onnx::IR_VERSION_2020_5_8 + 1);  // 8, the IR version of opset 18
  proto.set_producer_name("shoal");
  onnx::OperatorSetIdProto& operators = *proto.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOperators);
  proto.mutable_graph()->set_name(name);
}

OnnxGraph::~OnnxGraph() = default;

std::string OnnxGraph::unused_name(const std::string& kind) {
  const std::string first = scope_.empty() ? kind : scope_ + "/" + kind;
  std::string name = first;
  for (int number = 2; !model_->names.insert(name).second; ++number)
    name = first + "_" + std::to_string(number);
  return name;
}

std::string OnnxGraph::input(const std::string& name, OnnxType type,
                             const std::vector<OnnxDimension>& shape) {
  onnx::ValueInfoProto& input = *model_->proto.mutable_graph()->add_input();
  input.set_name(name);
  set_type(input, type, shape);
  return name;
}

std::string OnnxGraph::tensor(const std::string& name, std::span<const float> values,
                              const std::vector<int64_t>& shape) {
  model_->add_tensor(name, OnnxType::f32, values, shape);
  return name;
}

template <class T>
std::string OnnxGraph::constant(const std::string& kind, OnnxType type, std::span<const T> values,
                                const std::vector<int64_t>& shape) {
  const std::string name = unused_name(kind);
  model_->add_tensor(name, type, values, shape);
  return name;
}

std::string OnnxGraph::scalar(float value) {
  return constant<float>("scalar", OnnxType::f32, {&value, 1}, {});
}

std::string OnnxGraph::scalar(double value) {
  return constant<double>("scalar", OnnxType::f64, {&value, 1}, {});
}

std::string OnnxGraph::scalar(int64_t value) {
  return constant<int64_t>("scalar", OnnxType::i64, {&value, 1}, {});
}

std::string OnnxGraph::integers(const std::vector<int64_t>& values) {
  return integers(values, {static_cast<int64_t>(values.size())});
}

std::string OnnxGraph::integers(const std::vector<int64_t>& values,
                                const std::vector<int64_t>& shape) {
  return constant<int64_t>("integers", OnnxType::i64, values, shape);
}

std::string OnnxGraph::node(const std::string& operation, const std::vector<std::string>& inputs,
                            const Attributes& attributes) {
  onnx::NodeProto& node = *model_->graph->add_node();
  const std::string name = unused_name(operation);
  node.set_name(name);
  node.set_op_type(operation);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(name);
  for (const auto& [key, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(key);
    std::visit(SetAttribute{attribute}, value);
  }
  return name;
}

std::string OnnxGraph::choose(const std::string& condition, OnnxType type, const Branch& if_true,
                              const Branch& if_false) {
  onnx::GraphProto* const outer = model_->graph;
  const std::string name = node("If", {condition});
  onnx::NodeProto& added = *outer->mutable_node(outer->node_size() - 1);
  const auto add_branch = [&](const char* kind, const Branch& branch) {
    onnx::AttributeProto& attribute = *added.add_attribute();
    attribute.set_name(kind);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    model_->graph = attribute.mutable_g();
    model_->graph->set_name(name + "/" + kind);
    onnx::ValueInfoProto& result = *model_->graph->add_output();
    result.set_name(branch());
    result.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type));
  };
  add_branch("then_branch", if_true);
  add_branch("else_branch", if_false);
  model_->graph = outer;
  return name;
}

void OnnxGraph::output(const std::string& name, const std::vector<OnnxDimension>& shape) {
  onnx::GraphProto& graph = *model_->proto.mutable_graph();
  graph.mutable_node(graph.node_size() - 1)->set_output(0, name);
  onnx::ValueInfoProto& output = *graph.add_output();
  output.set_name(name);
  set_type(output, OnnxType::f32, shape);
}

void OnnxGraph::describe(const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *model_->proto.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

std::string OnnxGraph::bytes() const {
  std::string bytes;
  if (model_->proto.ByteSizeLong() > std::numeric_limits<int32_t>::max() ||
      !model_->proto.SerializeToString(&bytes))
    throw std::runtime_error("the ONNX model would be larger than 2 GiB");
  return bytes;
}

}  // namespace shoal::train
