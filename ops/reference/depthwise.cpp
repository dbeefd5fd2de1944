#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

template <class S>
void backward_weights(const Depthwise& op, const S* x, const S* dy, S* d_weight) {
  const int64_t out_height = (op.height + 2 * op.padding - op.kernel) / op.stride + 1;
  const int64_t out_width = (op.width + 2 * op.padding - op.kernel) / op.stride + 1;
  // Returns the gradient of one weight: Σ input * dy over images and output positions.
  const auto sum = [&](int64_t c, int64_t row, int64_t column) {
    double total = 0;
    for (int64_t n = 0; n < op.images; ++n) {
      for (int64_t h = 0; h < out_height; ++h) {
        const int64_t from_h = h * op.stride + row - op.padding;
        if (from_h < 0 || from_h >= op.height) continue;
        for (int64_t w = 0; w < out_width; ++w) {
          const int64_t from_w = w * op.stride + column - op.padding;
          if (from_w < 0 || from_w >= op.width) continue;
          const S value = x[((n * op.height + from_h) * op.width + from_w) * op.channels + c];
          const S slope = dy[((n * out_height + h) * out_width + w) * op.channels + c];
          total += static_cast<double>(Element<S>::load(value)) * Element<S>::load(slope);
        }
      }
    }
    return total;
  };
  for (int64_t c = 0, i = 0; c < op.channels; ++c) {
    for (int64_t row = 0; row < op.kernel; ++row) {
      for (int64_t column = 0; column < op.kernel; ++column, ++i) {
        using Value = typename Element<S>::Value;
        d_weight[i] = Element<S>::store(static_cast<Value>(sum(c, row, column)));
      }
    }
  }
}

}  // namespace

void depthwise_backward_weights(const Depthwise& op, const void* x, const void* dy, void* d_weight,
                                void*) {
  dispatch(op.type, [&](auto element) {
    using S = decltype(element);
    backward_weights(op, static_cast<const S*>(x), static_cast<const S*>(dy),
                     static_cast<S*>(d_weight));
  });
}

}  // namespace shoal::ops::reference_kernels
