#pragma once
// Builds an ONNX model. Hides protobuf, whose headers cannot be included together with LibTorch's.
// Does not use LibTorch. Sources: https://onnx.ai/onnx/repo-docs/IR.html,
// https://onnx.ai/onnx/operators
//
// Values (tensors between nodes) are identified by their names.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::train {

// Element types, with ONNX's numbers.
enum class OnnxType : int { f32 = 1, u8 = 2, i64 = 7, f64 = 11 };

// A dimension of an input or output: its size or, if it can differ between calls, its name.
using OnnxDimension = std::variant<int64_t, std::string>;

class OnnxGraph {
 public:
  using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>>;
  using Attributes = std::vector<std::pair<std::string, Attribute>>;

  explicit OnnxGraph(const std::string& name);
  ~OnnxGraph();
  OnnxGraph(const OnnxGraph&) = delete;
  OnnxGraph& operator=(const OnnxGraph&) = delete;

  // Sets the prefix of the names of nodes and constants that are added later: "features.0.0" in
  // "features.0.0/Conv".
  void set_scope(const std::string& scope) { scope_ = scope; }

  // Each of the next functions adds a value and returns its name.
  std::string input(const std::string& name, OnnxType type,
                    const std::vector<OnnxDimension>& shape);
  std::string tensor(const std::string& name, std::span<const float> values,
                     const std::vector<int64_t>& shape);
  std::string scalar(float value);
  std::string scalar(double value);
  std::string scalar(int64_t value);
  std::string integers(const std::vector<int64_t>& values);  // 1-D
  std::string integers(const std::vector<int64_t>& values, const std::vector<int64_t>& shape);
  // Adds a node with one output. An empty name in `inputs` omits an optional input.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {});
  // Adds an If node. The model evaluates one of two branches, selected by `condition` (a bool
  // without dimensions). The value of that branch, of type `type`, becomes the value of the node.
  // `if_true` and `if_false` each add the nodes of one branch and return the value of its last
  // node. A branch may use all values added before.
  using Branch = std::function<std::string()>;
  std::string choose(const std::string& condition, OnnxType type, const Branch& if_true,
                     const Branch& if_false);

  // Makes the last node's output an output of the model, under the name `name`.
  void output(const std::string& name, const std::vector<OnnxDimension>& shape);

  // Adds an entry to the model's metadata.
  void describe(const std::string& key, const std::string& value);

  // Returns the file. Throws std::runtime_error if it would be larger than protobuf's 2 GiB.
  std::string bytes() const;

 private:
  std::string unused_name(const std::string& kind);
  template <class T>
  std::string constant(const std::string& kind, OnnxType type, std::span<const T> values,
                       const std::vector<int64_t>& shape);

  struct Model;
  const std::unique_ptr<Model> model_;
  std::string scope_;
};

}  // namespace shoal::train
