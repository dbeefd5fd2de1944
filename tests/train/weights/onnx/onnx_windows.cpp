#include <algorithm>
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

}  // namespace shoal::test
