#include <algorithm>

#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

// Calls f(i, n * channels + c) for each element i, where n is its image and c its channel.
template <class F>
void for_each(const Gate& op, F&& f) {
  for (int64_t n = 0, i = 0; n < op.images; ++n) {
    for (int64_t p = 0; p < op.pixels; ++p) {
      for (int64_t c = 0; c < op.channels; ++c, ++i) f(i, n * op.channels + c);
    }
  }
}

}  // namespace

void pool(const Gate& op, void* pooled, void*) {
  dispatch(op.type, [&]<class S>(S) {
    using V = typename Element<S>::Value;
    V* out = static_cast<V*>(pooled);
    const S* x = static_cast<const S*>(op.x);
    std::fill_n(out, op.images * op.channels, V(0));
    for_each(op, [&](int64_t i, int64_t nc) { out[nc] += Element<S>::load(x[i]); });
    for (int64_t nc = 0; nc < op.images * op.channels; ++nc) out[nc] /= static_cast<V>(op.pixels);
  });
}

void gate_apply(const Gate& op, void* y, void*) {
  dispatch(op.type, [&]<class S>(S) {
    using V = typename Element<S>::Value;
    const S* x = static_cast<const S*>(op.x);
    const V* gate = static_cast<const V*>(op.gate);
    for_each(op, [&](int64_t i, int64_t nc) {
      static_cast<S*>(y)[i] = Element<S>::store(Element<S>::load(x[i]) * gate[nc]);
    });
  });
}

void gate_backward_sums(const Gate& op, const void* dy, void* d_gate, void*) {
  dispatch(op.type, [&]<class S>(S) {
    using V = typename Element<S>::Value;
    const S* x = static_cast<const S*>(op.x);
    V* out = static_cast<V*>(d_gate);
    std::fill_n(out, op.images * op.channels, V(0));
    for_each(op, [&](int64_t i, int64_t nc) {
      out[nc] += Element<S>::load(static_cast<const S*>(dy)[i]) * Element<S>::load(x[i]);
    });
  });
}

void gate_backward_apply(const Gate& op, const void* dy, const void* d_pooled, void* dx, void*) {
  dispatch(op.type, [&]<class S>(S) {
    using V = typename Element<S>::Value;
    const V* gate = static_cast<const V*>(op.gate);
    const V* mean_gradient = static_cast<const V*>(d_pooled);
    const V share = V(1) / static_cast<V>(op.pixels);
    for_each(op, [&](int64_t i, int64_t nc) {
      const V g =
          Element<S>::load(static_cast<const S*>(dy)[i]) * gate[nc] + mean_gradient[nc] * share;
      static_cast<S*>(dx)[i] = Element<S>::store(g);
    });
  });
}

}  // namespace shoal::ops::reference_kernels
