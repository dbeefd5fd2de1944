#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "ops/ops.h"

namespace {

using shoal::ops::Depthwise;
using shoal::ops::Table;
using shoal::ops::Type;

struct DepthwiseCase {
  Depthwise op;
  std::vector<float> x, dy;
  int64_t out_height, out_width;

  DepthwiseCase(int64_t images, int64_t height, int64_t width, int64_t channels, int64_t kernel,
                int64_t stride)
      : op{Type::f32, images, height, width, channels, kernel, stride, (kernel - 1) / 2},
        out_height((height - 1) / stride + 1),
        out_width((width - 1) / stride + 1) {
    for (int64_t i = 0; i < images * height * width * channels; ++i) {
      x.push_back(std::sin(0.7f * static_cast<float>(i % 9973)));
    }
    for (int64_t i = 0; i < images * out_height * out_width * channels; ++i) {
      dy.push_back(std::cos(0.3f * static_cast<float>(i % 9949)));
    }
  }

  std::vector<float> gradient(const Table& table) const {
    std::vector<float> result(static_cast<size_t>(op.channels * op.kernel * op.kernel), -1);
    table.depthwise_backward_weights(op, x.data(), dy.data(), result.data(), nullptr);
    return result;
  }

  std::string text() const {
    return std::to_string(op.height) + "x" + std::to_string(op.width) + "x" +
           std::to_string(op.channels) + " kernel " + std::to_string(op.kernel) + " stride " +
           std::to_string(op.stride);
  }

  // Returns the loss Σ dy * y, where y is the convolution with one weight set to 1 and all others
  // to 0. The loss is linear in the weights, so this is the gradient of that weight.
  double probe(int64_t c, int64_t row, int64_t column) const {
    double loss = 0;
    for (int64_t n = 0; n < op.images; ++n) {
      for (int64_t h = 0; h < out_height; ++h) {
        for (int64_t w = 0; w < out_width; ++w) {
          const int64_t from_h = h * op.stride + row - op.padding,
                        from_w = w * op.stride + column - op.padding;
          const bool inside = from_h >= 0 && from_h < op.height && from_w >= 0 && from_w < op.width;
          const float y =
              inside ? x[static_cast<size_t>(
                           ((n * op.height + from_h) * op.width + from_w) * op.channels + c)]
                     : 0;
          loss += static_cast<double>(y) *
                  dy[static_cast<size_t>(((n * out_height + h) * out_width + w) * op.channels + c)];
        }
      }
    }
    return loss;
  }
};

}  // namespace

TEST_CASE("the gradient of each depthwise weight equals the loss with only that weight set to 1") {
  const DepthwiseCase c(2, 5, 6, 3, 3, 2);
  const std::vector<float> gradient = c.gradient(shoal::ops::reference());
  for (int64_t i = 0; i < 27; ++i) {
    CHECK(gradient[static_cast<size_t>(i)] ==
          Approx(c.probe(i / 9, i / 3 % 3, i % 3)).margin(1e-5));
  }
}

TEST_CASE("the vector loops of the depthwise gradient agree with the plain loops") {
  for (int64_t channels : {8, 24, 40, 12}) {
    for (int64_t kernel : {3, 5, 7}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t size : {1, 2, 3, 7, 14, 33}) {
          const DepthwiseCase c(3, size, size + (size > 3 ? 1 : 0), channels, kernel, stride);
          const std::vector<float> plain = c.gradient(shoal::ops::reference());
          const std::vector<float> fast = c.gradient(shoal::ops::cpu());
          double worst = 0;
          for (size_t i = 0; i < plain.size(); ++i) {
            const double d = std::abs(plain[i] - fast[i]);
            worst = std::isnan(d) ? INFINITY : std::max(worst, d);
          }
          INFO(c.text());
          CHECK(worst < 1e-3);
          CHECK(worst <= 2e-5 * std::sqrt(static_cast<double>(3 * size * (size + 1))));
        }
      }
    }
  }
}

TEST_CASE("the depthwise gradient repeats bit for bit") {
  const DepthwiseCase c(5, 20, 20, 48, 5, 1);
  const std::vector<float> first = c.gradient(shoal::ops::cpu());
  for (int i = 0; i < 5; ++i) CHECK(c.gradient(shoal::ops::cpu()) == first);
}
