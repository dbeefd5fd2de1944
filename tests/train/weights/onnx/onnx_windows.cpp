#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/train/weights/onnx/onnx_evaluator.h"

namespace shoal::test {
namespace {

int64_t first_of(const OnnxNode& node, const std::string& name, int64_t otherwise) {
  const auto it = node.numbers.find(name);
  return it == node.numbers.end() ? otherwise : static_cast<int64_t>(it->second.at(0));
}

// The kernel's windows along one dimension.
struct Windows {
  int64_t kernel, stride, before, count;

  Windows(const OnnxNode& node, size_t dimension, int64_t in, int64_t kernel_size)
      : kernel(kernel_size), stride(first_of(node, "strides", 1)) {
    if (node.texts.contains("auto_pad")) {  // SAME_UPPER
      count = (in + stride - 1) / stride;
      before = std::max<int64_t>(0, (count - 1) * stride + kernel - in) / 2;
      return;
    }
    const auto it = node.numbers.find("pads");
    const std::vector<double> pads = it == node.numbers.end() ? std::vector<double>(4) : it->second;
    before = static_cast<int64_t>(pads.at(dimension));
    count = (in + before + static_cast<int64_t>(pads.at(dimension + 2)) - kernel) / stride + 1;
  }
};

// Calls use(n, channel, y, x, row, column, ky, kx) for each pixel of each window of N×C×H×W.
template <class Use>
OnnxValue each_window(const OnnxValue& x, int64_t channels, const Windows& rows,
                      const Windows& columns, double start, Use use) {
  OnnxValue y{{x.size(0), channels, rows.count, columns.count}, {}, false};
  for (int64_t n = 0; n < x.size(0); ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < rows.count; ++i)
        for (int64_t j = 0; j < columns.count; ++j) {
          double value = start;
          for (int64_t k = 0; k < rows.kernel * columns.kernel; ++k) {
            const int64_t row = i * rows.stride - rows.before + k / columns.kernel;
            const int64_t column = j * columns.stride - columns.before + k % columns.kernel;
            if (row >= 0 && row < x.size(2) && column >= 0 && column < x.size(3))
              use(value, n, c, row * x.size(3) + column, k);
          }
          y.values.push_back(value);
        }
  return y;
}

// Returns the weight of Resize's filter at distance x from its center: cubic (with `a`) or linear.
double weight(bool cubic, double a, double x) {
  x = std::abs(x);
  if (!cubic) return std::max(0.0, 1 - x);
  if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

}  // namespace

OnnxValue convolve(const OnnxNode& node, const std::vector<OnnxValue>& inputs) {
  const OnnxValue &x = inputs.at(0), &w = inputs.at(1);
  const Windows rows(node, 0, x.size(2), w.size(2)), columns(node, 1, x.size(3), w.size(3));
  const int64_t groups = first_of(node, "group", 1), area = x.size(2) * x.size(3);
  const int64_t taps = rows.kernel * columns.kernel, share = w.size(0) / groups;
  OnnxValue y = each_window(x, w.size(0), rows, columns, 0,
                            [&](double& sum, int64_t n, int64_t c, int64_t pixel, int64_t tap) {
                              for (int64_t i = 0; i < w.size(1); ++i) {
                                const int64_t channel = n * x.size(1) + c / share * w.size(1) + i;
                                sum +=
                                    x.values[static_cast<size_t>(channel * area + pixel)] *
                                    w.values[static_cast<size_t>((c * w.size(1) + i) * taps + tap)];
                              }
                            });
  if (inputs.size() < 3) return y;
  const int64_t out = y.size(2) * y.size(3);
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] += inputs[2].values[static_cast<size_t>(static_cast<int64_t>(i) / out % w.size(0))];
  return y;
}

OnnxValue max_pool(const OnnxNode& node, const OnnxValue& x) {
  const auto kernel = first_of(node, "kernel_shape", 0), area = x.size(2) * x.size(3);
  return each_window(x, x.size(1), {node, 0, x.size(2), kernel}, {node, 1, x.size(3), kernel},
                     -std::numeric_limits<double>::infinity(),
                     [&](double& most, int64_t n, int64_t c, int64_t pixel, int64_t) {
                       const int64_t at = (n * x.size(1) + c) * area + pixel;
                       most = std::max(most, x.values[static_cast<size_t>(at)]);
                     });
}

OnnxValue resize(const OnnxNode& node, const OnnxValue& x, int64_t size) {
  const bool cubic = node.texts.at("mode") == "cubic";
  const auto axis = static_cast<size_t>(first_of(node, "axes", 0));
  const int64_t in = x.size(axis);
  const double scale = static_cast<double>(in) / static_cast<double>(size);
  // With antialias, the filter widens when the image is reduced.
  const double wider = first_of(node, "antialias", 0) == 1 ? std::max(scale, 1.0) : 1.0;
  const double a = node.numbers.at("cubic_coeff_a").at(0);
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < x.shape.size(); ++i)
    (i < axis ? before : after) *= i == axis ? 1 : x.shape[i];
  OnnxValue y = x;
  y.shape[axis] = size;
  y.values.assign(static_cast<size_t>(before * size * after), 0);
  for (int64_t out = 0; out < size; ++out) {
    const double center = (static_cast<double>(out) + 0.5) * scale - 0.5;  // half_pixel
    std::vector<double> weights;
    double sum = 0;
    for (int64_t i = 0; i < in; ++i) {  // exclude_outside: weights outside the image are 0
      weights.push_back(weight(cubic, a, (static_cast<double>(i) - center) / wider));
      sum += weights.back();
    }
    for (int64_t b = 0; b < before; ++b)
      for (int64_t i = 0; i < in; ++i) {
        if (weights[static_cast<size_t>(i)] == 0) continue;
        for (int64_t c = 0; c < after; ++c)
          y.values[static_cast<size_t>((b * size + out) * after + c)] +=
              weights[static_cast<size_t>(i)] / sum *
              x.values[static_cast<size_t>((b * in + i) * after + c)];
      }
  }
  return y;
}

}  // namespace shoal::test
