// Runs backward of the fused step, node by node.

#include <algorithm>

#include "base/process/trace.h"
#include "models/program/program.h"

namespace shoal::models {

namespace fused = ops::fused;
using fused::padded;

void Program::backward(const float* d_logits, const std::vector<float*>& gradients,
                       const std::function<void(size_t)>& complete) {
  gradients_ = &gradients;
  for (int i = static_cast<int>(network_.nodes.size()); i-- > 0;) {
    if (!node(i).differentiates) continue;
    written_.clear();
    backward_node(i, d_logits);
    for (size_t parameter : written_) complete(parameter);
  }
}

float* Program::gradient(int parameter) {
  const auto index = static_cast<size_t>(parameter);
  if ((*gradients_)[index] && std::ranges::find(written_, index) == written_.end())
    written_.push_back(index);
  return (*gradients_)[index];
}

void Program::backward_node(int i, const float* d_logits) {
  const trace::Scope scope("backward", network_.nodes[static_cast<size_t>(i)].name);
  switch (node(i).kernel) {
    case KernelKind::none:
      return;
    case KernelKind::join:
      run_backward(join(i), workspace_);
      return backward_norm(i);
    case KernelKind::max_pool: {
      fused::MaxPool op = max_pool(i);
      op.dx = downstream(i);
      if (!op.dx.u) return;
      run_backward(op, workspace_);
      return backward_norm(node(i).norm);
    }
    case KernelKind::pool: {
      const int norm = node(i).norm;
      fused::Pool op = pool(i);
      if (norm < 0) op.dx = downstream(i);
      if (norm < 0 ? !op.dx.u : !node(norm).differentiates) return;
      run_backward(op, workspace_);
      if (norm >= 0) backward_norm(norm);
      return;
    }
    case KernelKind::linear:
      return backward_linear(i, d_logits);
    default:
      return backward_convolution(i);
  }
}

// Completes backward of batch norm i from the sums in the workspace: computes slope, pull and
// offset (Norm in ops/fused/kernels.h) and the gradients of the norm's weight and bias.
void Program::backward_norm(int i) {
  const int parameter = operation<Norm>(i).weight;
  finish_norm_backward(norm_state(i), *norm_vectors(i), gradient(parameter),
                       gradient(parameter + 1), workspace_);
}

void Program::backward_linear(int i, const float* d_logits) {
  const fused::Linear op = linear(i);
  const int parameter = operation<Linear>(i).weight, before = node(i).source;
  const int64_t stride = padded(op.out), size = op.images * stride;
  float* const dy = at(node(i).gradient);
  if (i + 1 == static_cast<int>(network_.nodes.size())) {
    std::fill_n(dy, size, 0.0f);
    for (int64_t n = 0; n < op.images; ++n)
      std::copy_n(d_logits + n * op.out, op.out, dy + n * stride);
  } else {
    const float* const slopes = at(node(i).output) + size;
    for (int64_t k = 0; k < size; ++k) dy[k] *= slopes[k];
  }
  float* const d_features = node(before).differentiates ? at(node(before).gradient) : nullptr;
  run_backward(op, dy, at(packed_), d_features, gradient(parameter), gradient(parameter + 1));
  if (!d_features || node(before).kernel != KernelKind::pool) return;
  // Converts the gradient of the linear layer's input, through dropout and pooling, to the gradient
  // of each pixel.
  const PlannedNode& from = node(node(before).source);
  const float share = 1.0f / static_cast<float>(from.height * from.width);
  const float* const kept = mask(before);
  for (int64_t n = 0; n < op.images; ++n)
    for (int64_t c = 0; c < op.in; ++c)
      d_features[n * padded(op.in) + c] *= kept ? share * kept[n * op.in + c] : share;
}

fused::Upstream Program::upstream(int i) const {
  const PlannedNode& p = node(i);
  fused::Upstream up;
  up.x = at(p.output);
  up.norm = norm_vectors(p.next_norm);
  up.activation = operation<Norm>(p.next_norm).activation;
  up.u = at(node(p.next_norm).gradient);
  if (node(p.next_norm).stored) {
    up.mask = mask(p.next_norm);
    up.joined = join(p.next_norm).activation != ops::Activation::none;
  }
  if (p.next_pool >= 0) up.spread = at(node(p.next_pool).gradient);
  if (p.next_squeeze >= 0) {
    const fused::Squeeze& s = squeezes_[static_cast<size_t>(p.next_squeeze)];
    up.gate = s.gate;
    up.spread = s.spread;
  }
  return up;
}

fused::Downstream Program::downstream(int i) const {
  const PlannedNode& p = node(i);
  const int into = p.norm >= 0 ? p.norm : p.source;
  if (!node(into).differentiates) return {};
  // Several nodes may read `into`. The last of them is the first to run backward and writes the
  // gradient; the others add to it. If `into` is the second input of a join, its buffer already
  // contains the join's gradient, so all add.
  bool add = false;
  for (int later = 0; later < static_cast<int>(plan_.nodes.size()); ++later)
    add |= p.norm < 0 && (node(later).skip == into || (later > i && node(later).source == into));
  return {at(node(into).gradient), add};
}

void Program::backward_convolution(int i) {
  const PlannedNode& p = node(i);
  const int parameter = operation<Convolution>(i).weight;
  const bool wants_weight = trained(parameter);
  float* const to = gradient(parameter);
  if (p.kernel == KernelKind::stem) {
    fused::Stem op = stem(i);
    op.dy = upstream(i);
    run_backward(op, workspace_);
    return fused::collect_gradient(true, op.out, op.kernel * op.kernel * op.in, to, workspace_);
  }
  if (p.kernel == KernelKind::dense) return backward_dense(i);
  fused::Downstream dx = downstream(i);
  if (p.kernel == KernelKind::depthwise) {
    fused::Depthwise op = depthwise(i);
    op.block = backward_block(op);
    op.streams = streams(p.norm >= 0 ? p.norm : p.source);
    pack_depthwise(op, parameter);
    op.dy = upstream(i);
    op.dx = dx;
    run_backward(op, wants_weight, workspace_);
    if (wants_weight)
      fused::collect_gradient(true, op.channels, op.kernel * op.kernel, to, workspace_);
  } else {
    fused::Pointwise op = pointwise(i);
    op.tile = fused::backward_tile(op.in, op.out);
    float* const packed = pack_squeeze(op, p.squeeze);
    op.weights = fused::pack_pointwise(workspace_.loops(), weight(parameter), op.in, 1, op.out,
                                       op.in, packed);
    op.dy = upstream(i);
    op.dx = dx;
    op.streams = streams(p.norm >= 0 ? p.norm : p.source);
    run_backward(op, wants_weight, workspace_);
    if (wants_weight) fused::collect_gradient(op.wide, op.out, op.in, to, workspace_);
    if (op.squeeze) backward_squeeze(i);
  }
  if (dx.u && p.norm >= 0) backward_norm(p.norm);
}

void Program::backward_dense(int i) {
  const int parameter = operation<Convolution>(i).weight;
  fused::Dense op = dense(i);
  op.dy = upstream(i);
  op.dx = downstream(i);
  if (trained(parameter)) {
    run_weight_gradient(op, workspace_);
    collect_gradient(op, gradient(parameter), workspace_);
  }
  if (!op.dx.u) return;
  op.weights =
      pack_dense(op, weight(parameter), /*backward=*/true, workspace_.loops(), at(packed_));
  run_input_gradient(op, workspace_);
  if (node(i).norm >= 0) backward_norm(node(i).norm);
}

void Program::backward_squeeze(int i) {
  const PlannedNode& p = node(i);
  const int w = operation<SqueezeExcite>(p.squeeze).weight;
  fused::squeeze_gradients(squeezes_[static_cast<size_t>(p.squeeze)], shape_.images,
                           node(p.squeeze).channels, at(packed_),
                           {gradient(w), gradient(w + 1), gradient(w + 2), gradient(w + 3)});
}

}  // namespace shoal::models
