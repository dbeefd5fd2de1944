#include "tests/train/weights/onnx/onnx_evaluator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace shoal::test {
namespace {

using Inputs = std::vector<OnnxValue>;

constexpr double kUnsigned8 = 2, kInteger64 = 7;  // TensorProto.DataType

// Broadcasts a value of shape `own` to `shape`. Returns the index into the value for each element.
std::vector<size_t> positions(const std::vector<int64_t>& own, const std::vector<int64_t>& shape) {
  std::vector<size_t> result(elements(shape));
  for (size_t i = 0; i < result.size(); ++i) {
    size_t rest = i, step = 1;
    for (size_t back = 1; back <= own.size(); ++back) {
      const auto size = static_cast<size_t>(shape[shape.size() - back]);
      const auto mine = static_cast<size_t>(own[own.size() - back]);
      if (mine > 1) result[i] += rest % size * step;
      step *= mine;
      rest /= size;
    }
  }
  return result;
}

OnnxValue combine(const OnnxValue& a, const OnnxValue& b,
                  const std::function<double(double, double)>& function) {
  OnnxValue y{a.shape.size() >= b.shape.size() ? a.shape : b.shape, {}, a.integers};
  const OnnxValue& shorter = a.shape.size() >= b.shape.size() ? b : a;
  for (size_t back = 1; back <= shorter.shape.size(); ++back) {
    int64_t& size = y.shape[y.shape.size() - back];
    size = std::max(size, shorter.shape[shorter.shape.size() - back]);
  }
  const auto in_a = positions(a.shape, y.shape), in_b = positions(b.shape, y.shape);
  for (size_t i = 0; i < in_a.size(); ++i)
    y.values.push_back(function(a.values[in_a[i]], b.values[in_b[i]]));
  return y;
}

OnnxValue each(OnnxValue x, const std::function<double(double)>& function) {
  for (double& value : x.values) value = function(value);
  return x;
}

OnnxValue normalize(const OnnxNode& node, const Inputs& in) {
  OnnxValue y = in[0];
  const size_t area = elements(y.shape) / static_cast<size_t>(y.size(0) * y.size(1));
  for (size_t i = 0; i < y.values.size(); ++i) {
    const size_t c = i / area % static_cast<size_t>(y.size(1));
    y.values[i] = (y.values[i] - in[3].values[c]) /
                      std::sqrt(in[4].values[c] + node.numbers.at("epsilon")[0]) * in[1].values[c] +
                  in[2].values[c];
  }
  return y;
}

OnnxValue average(const OnnxValue& x) {
  OnnxValue y{
      {x.size(0), x.size(1), 1, 1}, std::vector<double>(elements({x.size(0), x.size(1)})), false};
  const size_t area = x.values.size() / y.values.size();
  for (size_t i = 0; i < x.values.size(); ++i)
    y.values[i / area] += x.values[i] / static_cast<double>(area);
  return y;
}

// Gemm with transB=1.
OnnxValue multiply_add(const Inputs& in) {
  const OnnxValue &x = in[0], &w = in[1];
  OnnxValue y{{x.size(0), w.size(0)}, {}, false};
  const auto inner = static_cast<size_t>(w.size(1));
  for (size_t n = 0; n < static_cast<size_t>(x.size(0)); ++n)
    for (size_t o = 0; o < static_cast<size_t>(w.size(0)); ++o) {
      double sum = in[2].values[o];
      for (size_t i = 0; i < inner; ++i) sum += x.values[n * inner + i] * w.values[o * inner + i];
      y.values.push_back(sum);
    }
  return y;
}

OnnxValue shape_of(const OnnxNode& node, const OnnxValue& x) {
  const auto start = static_cast<std::ptrdiff_t>(node.numbers.at("start")[0]);
  const auto end = static_cast<std::ptrdiff_t>(node.numbers.at("end")[0]);
  return {{end - start}, {x.shape.begin() + start, x.shape.begin() + end}, true};
}

OnnxValue cast(const OnnxNode& node, OnnxValue x) {
  const double type = node.numbers.at("to")[0];
  x.integers = type == kInteger64;
  if (type != kInteger64 && type != kUnsigned8) return x;
  return each(std::move(x), [](double value) { return std::trunc(value); });
}

// Returns the integers from `first` until `end`.
OnnxValue range(double first, double end) {
  OnnxValue y{{static_cast<int64_t>(end - first)}, {}, true};
  for (double value = first; value < end; ++value) y.values.push_back(value);
  return y;
}

// Adds along the last dimension, which becomes 1.
OnnxValue sum_of(const OnnxValue& x) {
  OnnxValue y = x;
  y.shape.back() = 1;
  y.values.assign(elements(y.shape), 0);
  const size_t inner = x.values.size() / y.values.size();
  for (size_t i = 0; i < x.values.size(); ++i) y.values[i / inner] += x.values[i];
  return y;
}

using Operator = std::function<OnnxValue(const OnnxNode&, const Inputs&)>;

Operator binary(double (*function)(double, double)) {
  return [function](const OnnxNode&, const Inputs& in) { return combine(in[0], in[1], function); };
}
Operator unary(double (*function)(double)) {
  return [function](const OnnxNode&, const Inputs& in) { return each(in[0], function); };
}

const std::map<std::string, Operator>& operators() {
  using N = const OnnxNode&;
  using I = const Inputs&;
  static const std::map<std::string, Operator> table = {
      {"Add", binary([](double a, double b) { return a + b; })},
      {"Sub", binary([](double a, double b) { return a - b; })},
      {"Mul", binary([](double a, double b) { return a * b; })},
      {"Max", binary([](double a, double b) { return std::max(a, b); })},
      {"Min", binary([](double a, double b) { return std::min(a, b); })},
      {"Equal", binary([](double a, double b) { return double(a == b); })},
      {"Greater", binary([](double a, double b) { return double(a > b); })},
      {"And", binary([](double a, double b) { return a * b; })},
      {"Div",
       [](N, I in) {
         return in[0].integers
                    ? combine(in[0], in[1], [](double a, double b) { return std::trunc(a / b); })
                    : combine(in[0], in[1], [](double a, double b) { return a / b; });
       }},
      {"Relu", unary([](double x) { return std::max(x, 0.0); })},
      {"Sigmoid", unary([](double x) { return 1 / (1 + std::exp(-x)); })},
      {"Abs", unary([](double x) { return std::abs(x); })},
      {"Sign", unary([](double x) { return double(x > 0) - double(x < 0); })},
      {"Round", unary([](double x) { return std::nearbyint(x); })},
      {"Clip",
       [](N, I in) {
         return each(in[0], [&](double x) {
           return std::clamp(x, in[1].values.at(0), in[2].values.at(0));
         });
       }},
      {"ReduceMin",
       [](N, I in) {
         return OnnxValue{{1}, {*std::min_element(in[0].values.begin(), in[0].values.end())}, true};
       }},
      {"Conv", convolve},
      {"BatchNormalization", normalize},
      {"MaxPool", [](N node, I in) { return max_pool(node, in[0]); }},
      {"GlobalAveragePool", [](N, I in) { return average(in[0]); }},
      {"Flatten",
       [](N, I in) {
         return reshape(in[0], {{2}, {0, double(in[0].size(1))}, true});
       }},
      {"Gemm", [](N, I in) { return multiply_add(in); }},
      {"Transpose", [](N node, I in) { return transpose(node, in[0]); }},
      {"Cast", [](N node, I in) { return cast(node, in[0]); }},
      {"Shape", [](N node, I in) { return shape_of(node, in[0]); }},
      {"Slice", [](N, I in) { return slice(in); }},
      {"Reshape", [](N, I in) { return reshape(in[0], in[1]); }},
      {"Squeeze", [](N, I in) { return squeeze(in); }},
      {"Range", [](N, I in) { return range(in[0].values.at(0), in[1].values.at(0)); }},
      {"ReduceSum", [](N, I in) { return sum_of(in[0]); }},
      {"Gather", [](N node, I in) { return gather(node, in[0], in[1]); }},
      {"MatMul", [](N, I in) { return multiply(in[0], in[1]); }},
  };
  return table;
}

// Computes the nodes in order and adds their outputs to `values`.
void run(const std::vector<OnnxNode>& nodes, std::map<std::string, OnnxValue>& values) {
  for (const OnnxNode& node : nodes) {
    if (node.operation == "If") {
      const bool holds = values.at(node.inputs.at(0)).values.at(0) != 0;
      const OnnxBranch& branch = node.branches.at(holds ? "then_branch" : "else_branch");
      run(branch.nodes, values);
      values[node.output] = values.at(branch.output);
      continue;
    }
    Inputs inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? OnnxValue() : values.at(name));
    const auto found = operators().find(node.operation);
    if (found == operators().end()) throw std::runtime_error("unknown operator " + node.operation);
    values[node.output] = found->second(node, inputs);
  }
}

}  // namespace

OnnxValue evaluate(const OnnxModel& model, const OnnxValue& input) {
  std::map<std::string, OnnxValue> values = model.initializers;
  values[model.input] = input;
  run(model.nodes, values);
  return values.at(model.output);
}

}  // namespace shoal::test
