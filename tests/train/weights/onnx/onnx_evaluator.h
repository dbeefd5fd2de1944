#pragma once
// Evaluates ONNX models with plain loops in double precision, for tests. Knows only the operators
// and attributes that train/weights/onnx/onnx_file.h writes, and throws std::runtime_error for
// others. Written from the operators' documentation, https://onnx.ai/onnx/operators. Free of
// protobuf and LibTorch.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shoal::test {

struct OnnxValue {
  std::vector<int64_t> shape;
  std::vector<double> values;
  bool integers = false;  // whether the type is int64, so that Div truncates

  int64_t size(size_t dimension) const { return shape.at(dimension); }
};

struct OnnxNode;

// A branch of an If node.
struct OnnxBranch {
  std::vector<OnnxNode> nodes;
  std::string output;
};

struct OnnxNode {
  std::string operation;
  std::vector<std::string> inputs;
  std::string output;
  std::map<std::string, std::vector<double>> numbers;  // attributes
  std::map<std::string, std::string> texts;            // attributes
  std::map<std::string, OnnxBranch> branches;          // attributes
};

struct OnnxModel {
  int64_t ir_version = 0, operators = 0;
  std::map<std::string, std::string> metadata;
  std::string input, output;
  int input_type = 0;                         // TensorProto.DataType
  std::vector<std::string> input_dimensions;  // numbers or names
  std::map<std::string, OnnxValue> initializers;
  std::vector<OnnxNode> nodes;
};

// Parses a file with the exporter's protobuf schema. Throws std::runtime_error if it is damaged.
OnnxModel parse_onnx(const std::string& bytes);

// Returns the model's output for its input.
OnnxValue evaluate(const OnnxModel& model, const OnnxValue& input);

// Returns the number of elements.
size_t elements(const std::vector<int64_t>& shape);

// The operators with loops over windows (onnx_windows.cpp). `inputs`: in the node's order.
OnnxValue convolve(const OnnxNode& node, const std::vector<OnnxValue>& inputs);
OnnxValue max_pool(const OnnxNode& node, const OnnxValue& x);

// The operators that move elements or multiply matrices (onnx_layout.cpp). gather() supports only
// axis 1. multiply() returns the matrix product of a[b] and x[n][b] for each n and b.
OnnxValue transpose(const OnnxNode& node, const OnnxValue& x);
OnnxValue gather(const OnnxNode& node, const OnnxValue& x, const OnnxValue& indices);
OnnxValue slice(const std::vector<OnnxValue>& inputs);
OnnxValue reshape(OnnxValue x, const OnnxValue& shape);
OnnxValue squeeze(const std::vector<OnnxValue>& inputs);
OnnxValue multiply(const OnnxValue& a, const OnnxValue& x);

}  // namespace shoal::test
