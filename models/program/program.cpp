#include "models/program/program.h"

#include <algorithm>
#include <utility>

namespace shoal::models {

namespace fused = ops::fused;
using fused::padded;

namespace {

constexpr int64_t kNormVectors = sizeof(fused::Norm) / sizeof(float*);

// Sets the buffers of a squeeze-excite, which begin at `memory`; squeeze_size() returns their size.
void place_squeeze(float* memory, int64_t images, int64_t channels, fused::Squeeze& s) {
  const int64_t wide = images * padded(channels), narrow = images * padded(s.squeezed);
  s.pooled = memory;
  s.gate = s.pooled + wide;
  s.d_excited = s.gate + wide;
  s.spread = s.d_excited + wide;
  s.hidden = s.spread + wide;
  s.squeezed_values = s.hidden + narrow;
  s.d_hidden = s.squeezed_values + narrow;
}

int64_t squeeze_size(int64_t images, int64_t channels, int64_t squeezed) {
  return images * (4 * padded(channels) + 3 * padded(squeezed));
}

}  // namespace

Program::Program(const Network& network, StepShape shape, int threads)
    : network_(network),
      shape_(std::move(shape)),
      plan_(plan_step(network, shape_)),
      workspace_({}, threads, shape_.storage) {
  const size_t count = network_.nodes.size();
  norms_.resize(count);
  squeezes_.resize(count);
  norm_places_.assign(count, -1);
  squeeze_places_.assign(count, -1);
  inputs_.weights.resize(network_.parameters.size());
  inputs_.masks.resize(count);
  floats_ = plan_.floats;
  reserve();
}

Place Program::take(int64_t floats) {
  return std::exchange(floats_, floats_ + padded(floats));
}

// Reserves places for everything except the outputs and gradients, for which the plan has places.
void Program::reserve() {
  fused::Needs needs;
  int64_t packed = 0;
  for (int i = 0; i < static_cast<int>(network_.nodes.size()); ++i) {
    const PlannedNode& p = node(i);
    const Operation& operation = network_.nodes[static_cast<size_t>(i)].operation;
    if (const auto* s = std::get_if<SqueezeExcite>(&operation)) {
      const int64_t squeezed = network_.parameters[static_cast<size_t>(s->weight)].shape[0];
      squeezes_[static_cast<size_t>(i)].squeezed = squeezed;
      squeezes_[static_cast<size_t>(i)].hard = s->hard;
      squeeze_places_[static_cast<size_t>(i)] =
          take(squeeze_size(shape_.images, p.channels, squeezed));
      packed = std::max(packed, fused::squeeze_floats(p.channels, squeezed));
    }
    if (std::holds_alternative<Norm>(operation))
      norm_places_[static_cast<size_t>(i)] = take(kNormVectors * padded(p.channels));
    const auto include = [&](const auto& op) {
      needs.include(forward_needs(op));
      if (p.differentiates) needs.include(backward_needs(op));
    };
    if (p.kernel == KernelKind::pointwise) {
      fused::Pointwise op = pointwise(i);
      needs.include(forward_needs(op));
      op.tile = fused::backward_tile(op.in, op.out);
      if (p.differentiates) needs.include(backward_needs(op));
      const int64_t squeezed =
          p.squeeze < 0 ? 0 : squeezes_[static_cast<size_t>(p.squeeze)].squeezed;
      packed =
          std::max(packed, fused::squeeze_floats(op.in, squeezed) + padded(op.in) * padded(op.out));
    } else if (p.kernel == KernelKind::depthwise) {
      fused::Depthwise op = depthwise(i);
      needs.include(forward_needs(op));
      op.block = backward_block(op);
      if (p.differentiates) needs.include(backward_needs(op));
      packed = std::max(packed, op.kernel * op.kernel * padded(op.channels));
    } else if (p.kernel == KernelKind::dense) {
      const fused::Dense op = dense(i);
      include(op);
      packed = std::max(packed, packed_floats(op));
    } else if (p.kernel == KernelKind::max_pool) {
      include(max_pool(i));
    } else if (p.kernel == KernelKind::stem) {
      const fused::Stem op = stem(i);
      include(op);
      packed = std::max(packed, op.kernel * op.kernel * op.in * padded(op.out));
    } else if (p.kernel == KernelKind::join) {
      if (p.differentiates) needs.include(backward_needs(join(i)));
    } else if (p.kernel == KernelKind::pool) {
      if (p.differentiates) needs.include(backward_needs(pool(i)));
    } else if (p.kernel == KernelKind::linear) {
      packed = std::max(packed, fused::linear_floats(linear(i)));
    }
  }
  packed_ = take(packed);
  workspace_ = fused::Workspace(needs, workspace_.threads(), shape_.storage);
  workspace_place_ = take(workspace_.floats());
}

void Program::use(float* memory) {
  memory_ = memory;
  workspace_.use(at(workspace_place_));
  for (size_t i = 0; i < norms_.size(); ++i) {
    const int64_t channels = plan_.nodes[i].channels, stride = padded(channels);
    if (norm_places_[i] >= 0) {
      float* v = at(norm_places_[i]);
      norms_[i] = {v,
                   v + stride,
                   v + 2 * stride,
                   v + 3 * stride,
                   v + 4 * stride,
                   v + 5 * stride,
                   v + 6 * stride};
    }
    if (squeeze_places_[i] >= 0)
      place_squeeze(at(squeeze_places_[i]), shape_.images, channels, squeezes_[i]);
  }
}

}  // namespace shoal::models
