#pragma once
// Describes an ONNX model, which may come from any program. Does not use LibTorch.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shoal::train {

struct OnnxSummary {
  // An input, output or initializer.
  struct Value {
    std::string name, type;          // type: "float32"; empty: not a tensor
    std::vector<std::string> shape;  // numbers, or names of free dimensions ("?": without a name)
  };
  std::string producer, graph;  // program and version that wrote the file; graph name
  int64_t ir_version = 0, nodes = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("": ONNX's own), version
  std::vector<Value> inputs, outputs, initializers;     // inputs: without the initializers
  int64_t parameters = 0;                               // elements of floating-point initializers
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Describes the model in `bytes`. Throws std::runtime_error if they are not an ONNX model, or if it
// is damaged. `where` appears in messages.
OnnxSummary onnx_summary(std::span<const char> bytes, const std::string& where);

}  // namespace shoal::train
