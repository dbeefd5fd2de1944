#include <algorithm>
#include <stdexcept>

#include "tests/train/weights/onnx/onnx_evaluator.h"

namespace shoal::test {
namespace {

size_t sized(int64_t number) {
  return static_cast<size_t>(number);
}

// Returns y with the given shape, in which element (i, j, …) is x at i * steps[0] + j * steps[1] +
// … + first.
OnnxValue strided(const OnnxValue& x, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& steps, int64_t first) {
  OnnxValue y{shape, {}, x.integers};
  std::vector<int64_t> at(shape.size());
  for (size_t left = elements(shape); left > 0; --left) {
    int64_t place = first;
    for (size_t d = 0; d < shape.size(); ++d) place += at[d] * steps[d];
    y.values.push_back(x.values.at(sized(place)));
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return y;
}

std::vector<int64_t> steps_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> steps(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
  return steps;
}

}  // namespace

size_t elements(const std::vector<int64_t>& shape) {
  size_t product = 1;
  for (const int64_t size : shape) product *= sized(size);
  return product;
}

OnnxValue transpose(const OnnxNode& node, const OnnxValue& x) {
  const std::vector<int64_t> own = steps_of(x.shape);
  std::vector<int64_t> shape, steps;
  for (const double dimension : node.numbers.at("perm")) {
    shape.push_back(x.size(static_cast<size_t>(dimension)));
    steps.push_back(own.at(static_cast<size_t>(dimension)));
  }
  return strided(x, shape, steps, 0);
}

OnnxValue gather(const OnnxNode& node, const OnnxValue& x, const OnnxValue& indices) {
  if (node.numbers.at("axis").at(0) != 1) throw std::runtime_error("Gather has another axis");
  OnnxValue y{{x.size(0)}, {}, x.integers};
  y.shape.insert(y.shape.end(), indices.shape.begin(), indices.shape.end());
  y.shape.insert(y.shape.end(), x.shape.begin() + 2, x.shape.end());
  const auto inner = steps_of(x.shape).at(1);
  for (int64_t n = 0; n < x.size(0); ++n)
    for (const double index : indices.values) {
      if (index < 0 || index >= static_cast<double>(x.size(1)))
        throw std::runtime_error("Gather reads outside of its input");
      const auto from = x.values.begin() + (n * x.size(1) + static_cast<int64_t>(index)) * inner;
      y.values.insert(y.values.end(), from, from + inner);
    }
  return y;
}

// If the node has no axes, cuts only the first dimension.
OnnxValue slice(const std::vector<OnnxValue>& inputs) {
  const OnnxValue& x = inputs.at(0);
  const std::vector<double> axes = inputs.size() > 3 ? inputs[3].values : std::vector<double>{0};
  const std::vector<int64_t> steps = steps_of(x.shape);
  std::vector<int64_t> shape = x.shape;
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const auto from = static_cast<int64_t>(inputs.at(1).values.at(i));
    const auto to = static_cast<int64_t>(inputs.at(2).values.at(i));
    first += from * steps.at(axis);
    shape[axis] = std::min(to, shape[axis]) - from;
  }
  return strided(x, shape, steps, first);
}

// In `shape`, 0 keeps the input's size in that dimension, and -1 stands for the size that fits.
OnnxValue reshape(OnnxValue x, const OnnxValue& shape) {
  std::vector<int64_t> sizes;
  int64_t known = 1;
  for (size_t i = 0; i < shape.values.size(); ++i) {
    const auto size = static_cast<int64_t>(shape.values[i]);
    sizes.push_back(size == 0 ? x.size(i) : size);
    if (size >= 0) known *= sizes.back();
  }
  std::replace(sizes.begin(), sizes.end(), int64_t{-1},
               static_cast<int64_t>(x.values.size()) / known);
  if (elements(sizes) != x.values.size()) throw std::runtime_error("Reshape changes the size");
  x.shape = sizes;
  return x;
}

// Removes one dimension (axes[0]) or, if the node has no axes, all dimensions of size 1.
OnnxValue squeeze(const std::vector<OnnxValue>& inputs) {
  OnnxValue x = inputs.at(0);
  if (inputs.size() == 1)
    std::erase(x.shape, 1);
  else
    x.shape.erase(x.shape.begin() + static_cast<int64_t>(inputs[1].values.at(0)));
  if (elements(x.shape) != x.values.size()) throw std::runtime_error("Squeeze changes the size");
  return x;
}

OnnxValue multiply(const OnnxValue& a, const OnnxValue& x) {
  const int64_t matrices = a.size(0), rows = a.size(1), inner = a.size(2), columns = x.size(3);
  if (x.size(1) != matrices || x.size(2) != inner) throw std::runtime_error("MatMul does not fit");
  OnnxValue y{{x.size(0), matrices, rows, columns}, {}, false};
  y.values.resize(elements(y.shape));
  for (int64_t m = 0; m < x.size(0) * matrices; ++m)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < inner; ++i) {
        const double factor = a.values[sized((m % matrices * rows + row) * inner + i)];
        for (int64_t column = 0; column < columns; ++column)
          y.values[sized((m * rows + row) * columns + column)] +=
              factor * x.values[sized((m * inner + i) * columns + column)];
      }
  return y;
}

}  // namespace shoal::test
