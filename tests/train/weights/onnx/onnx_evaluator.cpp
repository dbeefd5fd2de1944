#include "tests/train/weights/onnx/onnx_evaluator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace shoal::test {
namespace {

using Inputs = std::vector<OnnxValue>;

constexpr double kInteger64 = 7;  // TensorProto.DataType

size_t count(const std::vector<int64_t>& shape) {
  size_t product = 1;
  for (const int64_t size : shape) product *= static_cast<size_t>(size);
  return product;
}

// Broadcasts a value of shape `own` to `shape`. Returns the index into the value for each element.
std::vector<size_t> positions(const std::vector<int64_t>& own, const std::vector<int64_t>& shape) {
  std::vector<size_t> result(count(shape));
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
  const size_t area = count(y.shape) / static_cast<size_t>(y.size(0) * y.size(1));
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
      {x.size(0), x.size(1), 1, 1}, std::vector<double>(count({x.size(0), x.size(1)})), false};
  const size_t area = x.values.size() / y.values.size();
  for (size_t i = 0; i < x.values.size(); ++i)
    y.values[i / area] += x.values[i] / static_cast<double>(area);
  return y;
}

// Gemm with transB=1.
OnnxValue multiply(const Inputs& in) {
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

// Returns y with the given shape: y[i] = x[i + first], or 0 where i + first is outside of x.
OnnxValue window(const OnnxValue& x, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& first) {
  OnnxValue y{shape, std::vector<double>(count(shape)), x.integers};
  for (size_t i = 0; i < y.values.size(); ++i) {
    size_t rest = i, at = 0, step = 1;
    bool inside = true;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t place = static_cast<int64_t>(rest % static_cast<size_t>(shape[d])) + first[d];
      inside &= place >= 0 && place < x.shape[d];
      if (inside) at += static_cast<size_t>(place) * step;
      step *= static_cast<size_t>(x.shape[d]);
      rest /= static_cast<size_t>(shape[d]);
    }
    if (inside) y.values[i] = x.values[at];
  }
  return y;
}

// Computes Slice or Pad. If the node has no axes, changes only the first dimension.
OnnxValue cut(const Inputs& in, bool pad) {
  const OnnxValue& x = in[0];
  std::vector<int64_t> shape = x.shape, first(shape.size());
  const OnnxValue axes = in.size() > 3 ? in[3] : OnnxValue{{1}, {0}, true};
  for (size_t i = 0; i < axes.values.size(); ++i) {
    const auto axis = static_cast<size_t>(axes.values[i]);
    const OnnxValue& second = pad ? in[1] : in[2];
    const auto from = static_cast<int64_t>(in[1].values.at(i));
    const auto to = static_cast<int64_t>(second.values.at(pad ? axes.values.size() + i : i));
    first[axis] = pad ? -from : from;
    shape[axis] = pad ? shape[axis] + from + to : std::min(to, shape[axis]) - from;
  }
  return window(x, shape, first);
}

OnnxValue reshaped(OnnxValue x, const OnnxValue& shape) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < shape.values.size(); ++i) {
    const auto size = static_cast<int64_t>(shape.values[i]);
    sizes.push_back(size == 0 ? x.size(i) : size);
  }
  if (count(sizes) != x.values.size()) throw std::runtime_error("Reshape changes the size");
  x.shape = sizes;
  return x;
}

// N×H×W×C → N×C×H×W
OnnxValue channels_first(const OnnxValue& x) {
  OnnxValue y{{x.size(0), x.size(3), x.size(1), x.size(2)}, {}, false};
  const auto channels = static_cast<size_t>(x.size(3));
  const auto area = static_cast<size_t>(x.size(1) * x.size(2));
  for (size_t n = 0; n < static_cast<size_t>(x.size(0)); ++n)
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < area; ++i) y.values.push_back(x.values[(n * area + i) * channels + c]);
  return y;
}

OnnxValue joined(OnnxValue a, const OnnxValue& b) {
  a.values.insert(a.values.end(), b.values.begin(), b.values.end());
  a.shape = {static_cast<int64_t>(a.values.size())};
  return a;
}

OnnxValue from_dimension(const OnnxNode& node, const OnnxValue& x) {
  const auto start = static_cast<std::ptrdiff_t>(node.numbers.at("start")[0]);
  OnnxValue shape{{}, {x.shape.begin() + start, x.shape.end()}, true};
  shape.shape = {static_cast<int64_t>(shape.values.size())};
  return shape;
}

OnnxValue cast(const OnnxNode& node, OnnxValue x) {
  x.integers = node.numbers.at("to")[0] == kInteger64;
  return x;
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
      {"Div",
       [](N, I in) {
         return in[0].integers
                    ? combine(in[0], in[1], [](double a, double b) { return std::trunc(a / b); })
                    : combine(in[0], in[1], [](double a, double b) { return a / b; });
       }},
      {"Relu", unary([](double x) { return std::max(x, 0.0); })},
      {"Sigmoid", unary([](double x) { return 1 / (1 + std::exp(-x)); })},
      {"Floor", unary([](double x) { return std::floor(x); })},
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
         return reshaped(in[0], {{2}, {0, double(in[0].size(1))}, true});
       }},
      {"Gemm", [](N, I in) { return multiply(in); }},
      {"Transpose", [](N, I in) { return channels_first(in[0]); }},
      {"Cast", [](N node, I in) { return cast(node, in[0]); }},
      {"Shape", [](N node, I in) { return from_dimension(node, in[0]); }},
      {"Slice", [](N, I in) { return cut(in, /*pad=*/false); }},
      {"Pad", [](N, I in) { return cut(in, /*pad=*/true); }},
      {"Concat", [](N, I in) { return joined(in[0], in[1]); }},
      {"Reshape", [](N, I in) { return reshaped(in[0], in[1]); }},
      {"Resize",
       [](N node, I in) {
         return resize(node, in[0], static_cast<int64_t>(in.at(3).values.at(0)));
       }},
  };
  return table;
}

}  // namespace

OnnxValue evaluate(const OnnxModel& model, const OnnxValue& input) {
  std::map<std::string, OnnxValue> values = model.initializers;
  values[model.input] = input;
  for (const OnnxNode& node : model.nodes) {
    Inputs inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? OnnxValue() : values.at(name));
    const auto found = operators().find(node.operation);
    if (found == operators().end()) throw std::runtime_error("unknown operator " + node.operation);
    values[node.output] = found->second(node, inputs);
  }
  return values.at(model.output);
}

}  // namespace shoal::test
