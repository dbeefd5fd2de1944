// Runs forward of the fused step, node by node.

#include <algorithm>

#include "base/process/trace.h"
#include "models/program/program.h"

namespace shoal::models {

namespace fused = ops::fused;
using fused::padded;

fused::NormState Program::norm_state(int i) const {
  const Norm& norm = operation<Norm>(i);
  const ProgramStatistics& s = inputs_.statistics[static_cast<size_t>(norm.statistics)];
  const PlannedNode& p = node(i);
  return {p.channels,
          static_cast<double>(shape_.images * p.height * p.width),
          norm.eps,
          norm.momentum,
          weight(norm.weight),
          weight(norm.weight + 1),
          s.running_mean,
          s.running_var,
          s.pending,
          s.fixed};
}

void Program::forward(const ProgramInputs& inputs, float* logits) {
  inputs_ = inputs;
  for (int i = 0; i < static_cast<int>(network_.nodes.size()); ++i) forward_node(i, logits);
}

void Program::forward_node(int i, float* logits) {
  const trace::Scope scope("forward", network_.nodes[static_cast<size_t>(i)].name);
  switch (node(i).kernel) {
    case KernelKind::none:
      return;
    case KernelKind::join:
      return run(join(i), workspace_);
    case KernelKind::max_pool:
      return run(max_pool(i), workspace_);
    case KernelKind::pool: {
      const fused::Pool op = pool(i);
      run(op, workspace_);
      if (const float* kept = mask(i)) {
        const int64_t stride = padded(op.channels);
        for (int64_t n = 0; n < op.images; ++n)
          for (int64_t c = 0; c < op.channels; ++c)
            op.y[n * stride + c] *= kept[n * op.channels + c];
      }
      return;
    }
    case KernelKind::linear:
      return forward_linear(i, logits);
    default:
      return forward_convolution(i);
  }
}

// Packs the squeeze-excite weights of `op` at packed_, if it has a squeeze-excite. Returns the free
// memory after them.
float* Program::pack_squeeze(const fused::Pointwise& op, int squeeze) const {
  float* const packed = at(packed_);
  if (!op.squeeze) return packed;
  const int w = operation<SqueezeExcite>(squeeze).weight;
  fused::pack_squeeze({weight(w), weight(w + 1), weight(w + 2), weight(w + 3)}, op.in, packed,
                      *op.squeeze);
  return packed + fused::squeeze_floats(op.in, op.squeeze->squeezed);
}

void Program::pack_depthwise(fused::Depthwise& op, int parameter) const {
  const int64_t taps = op.kernel * op.kernel, stride = padded(op.channels);
  float* const to = at(packed_);
  const float* const from = weight(parameter);
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < stride; ++c)
      to[t * stride + c] = c < op.channels ? from[c * taps + t] : 0;
  op.weights = to;
}

void Program::forward_convolution(int i) {
  const PlannedNode& p = node(i);
  const int parameter = operation<Convolution>(i).weight;
  if (p.kernel == KernelKind::stem) {
    fused::Stem op = stem(i);
    const int64_t depth = op.kernel * op.kernel * op.in;
    op.weights = fused::pack(weight(parameter), 1, depth, depth, op.out, at(packed_));
    run(op, workspace_);
  } else if (p.kernel == KernelKind::depthwise) {
    fused::Depthwise op = depthwise(i);
    pack_depthwise(op, parameter);
    run(op, workspace_);
  } else if (p.kernel == KernelKind::dense) {
    fused::Dense op = dense(i);
    op.weights =
        pack_dense(op, weight(parameter), /*backward=*/false, workspace_.loops(), at(packed_));
    run(op, workspace_);
  } else {
    fused::Pointwise op = pointwise(i);
    float* const packed = pack_squeeze(op, p.squeeze);
    op.weights = fused::pack_pointwise(workspace_.loops(), weight(parameter), 1, op.in, op.in,
                                       op.out, packed);
    run(op, workspace_);
  }
  finish_norm(norm_state(p.next_norm), *norm_vectors(p.next_norm), workspace_);
}

// For a hidden layer, stores the activation's value and slope for backward, both multiplied by the
// dropout mask.
void Program::forward_linear(int i, float* logits) {
  const fused::Linear op = linear(i);
  const Linear& layer = operation<Linear>(i);
  const int64_t stride = padded(op.out), size = op.images * stride;
  float *const y = at(node(i).output), *const slopes = y + size;
  run(op, at(packed_), y);
  if (i + 1 == static_cast<int>(network_.nodes.size())) {
    for (int64_t n = 0; n < op.images; ++n)
      std::copy_n(y + n * stride, op.out, logits + n * op.out);
    return;
  }
  fused::loops().activate(layer.activation, y, size, y, slopes);
  const float* const kept = mask(i);
  for (int64_t n = 0; kept && n < op.images; ++n) {
    for (int64_t c = 0; c < op.out; ++c) {
      y[n * stride + c] *= kept[n * op.out + c];
      slopes[n * stride + c] *= kept[n * op.out + c];
    }
  }
}

}  // namespace shoal::models
