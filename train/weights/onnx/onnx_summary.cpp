#include "train/weights/onnx/onnx_summary.h"

#include <onnx.pb.h>

#include <limits>
#include <set>
#include <stdexcept>

namespace shoal::train {
namespace {

// Names of the element types, by ONNX's number.
constexpr const char* kTypes[] = {"undefined",  "float32", "uint8",  "int8",   "uint16",
                                  "int16",      "int32",   "int64",  "string", "bool",
                                  "float16",    "float64", "uint32", "uint64", "complex64",
                                  "complex128", "bfloat16"};

std::string type_name(int number) {
  if (number >= 0 && number < static_cast<int>(std::size(kTypes))) return kTypes[number];
  return "type " + std::to_string(number);
}

bool is_float(int type) {
  return type_name(type).find("float") != std::string::npos;
}

OnnxSummary::Value value_of(const onnx::ValueInfoProto& info) {
  OnnxSummary::Value value{info.name(), "", {}};
  if (!info.type().has_tensor_type()) return value;
  const onnx::TypeProto_Tensor& tensor = info.type().tensor_type();
  value.type = type_name(tensor.elem_type());
  for (const auto& dimension : tensor.shape().dim())
    value.shape.push_back(dimension.has_dim_value()       ? std::to_string(dimension.dim_value())
                          : dimension.dim_param().empty() ? "?"
                                                          : dimension.dim_param());
  return value;
}

// Returns the number of elements. Throws std::runtime_error if a size is negative or the product
// overflows int64_t.
int64_t elements(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.dims())
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      throw std::runtime_error("the shape of '" + tensor.name() + "' is impossible");
  return count;
}

}  // namespace

OnnxSummary onnx_summary(std::span<const char> bytes, const std::string& where) {
  onnx::ModelProto model;
  if (bytes.size() > std::numeric_limits<int32_t>::max() ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      model.ir_version() <= 0 || !model.has_graph())
    throw std::runtime_error(where + " is not an ONNX model, or it is damaged");
  const onnx::GraphProto& graph = model.graph();
  OnnxSummary summary;
  summary.producer = model.producer_name();
  if (!model.producer_version().empty()) summary.producer += " " + model.producer_version();
  summary.graph = graph.name();
  summary.ir_version = model.ir_version();
  summary.nodes = graph.node_size();
  for (const auto& opset : model.opset_import())
    summary.opsets.emplace_back(opset.domain(), opset.version());
  std::set<std::string> stored;  // names of initializers; older files also list these as inputs
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    stored.insert(tensor.name());
    OnnxSummary::Value value{tensor.name(), type_name(tensor.data_type()), {}};
    for (const int64_t size : tensor.dims()) value.shape.push_back(std::to_string(size));
    summary.initializers.push_back(std::move(value));
    try {
      if (is_float(tensor.data_type()) &&
          __builtin_add_overflow(summary.parameters, elements(tensor), &summary.parameters))
        throw std::runtime_error("it has too many parameters");
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(where + " is damaged: " + error.what());
    }
  }
  for (const auto& input : graph.input())
    if (!stored.contains(input.name())) summary.inputs.push_back(value_of(input));
  for (const auto& output : graph.output()) summary.outputs.push_back(value_of(output));
  for (const auto& entry : model.metadata_props())
    summary.metadata.emplace_back(entry.key(), entry.value());
  return summary;
}

}  // namespace shoal::train
