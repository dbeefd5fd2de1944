#include "models/program/program.h"

#include <algorithm>
#include <utility>

namespace shoal::models {

namespace fused = ops::fused;
using fused::padded;

namespace {

constexpr int64_t kNormVectors = sizeof(fused::Norm) / sizeof(float*);
constexpr int64_t kStreamBytes = 8 << 20;  // larger activations are written past the caches

// Where the parts of squeeze-excite's memory begin, from its place on.
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

// Reserves memory for everything besides the outputs and gradients.
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
      needs.include(backward_needs(op));
    };
    if (p.step == Step::pointwise) {
      const fused::Pointwise op = pointwise(i);
      include(op);
      const int64_t squeezed =
          p.squeeze < 0 ? 0 : squeezes_[static_cast<size_t>(p.squeeze)].squeezed;
      packed =
          std::max(packed, fused::squeeze_floats(op.in, squeezed) + padded(op.in) * padded(op.out));
    } else if (p.step == Step::depthwise) {
      fused::Depthwise op = depthwise(i);
      needs.include(forward_needs(op));
      op.block = backward_block(op);
      needs.include(backward_needs(op));
      packed = std::max(packed, op.kernel * op.kernel * padded(op.channels));
    } else if (p.step == Step::dense) {
      const fused::Dense op = dense(i);
      include(op);
      packed = std::max(packed, op.kernel * op.kernel * padded(op.in) * padded(op.out));
    } else if (p.step == Step::max_pool) {
      include(max_pool(i));
    } else if (p.step == Step::stem) {
      const fused::Stem op = stem(i);
      include(op);
      packed = std::max(packed, op.kernel * op.kernel * op.in * padded(op.out));
    } else if (p.step == Step::join) {
      needs.include(backward_needs(join(i)));
    } else if (p.step == Step::pool) {
      needs.include(backward_needs(pool(i)));
    } else if (p.step == Step::linear) {
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

// Whether activations as large as the output of node i are written past the caches. 16 channels of
// bfloat16 are only half a cache line.
bool Program::streams(int i) const {
  const PlannedNode& p = node(i);
  return shape_.storage == fused::Storage::f32 &&
         shape_.images * p.height * p.width * padded(p.channels) * size_of(shape_.storage) >
             kStreamBytes;
}

fused::Squeeze* Program::squeeze_of(int i) {
  return i < 0 ? nullptr : &squeezes_[static_cast<size_t>(i)];
}

fused::Operand Program::operand(int i) const {
  const PlannedNode& p = node(i);
  fused::Operand op;
  op.x = p.source < 0 ? inputs_.images : at(node(p.source).output);
  op.norm = norm_vectors(p.norm);
  if (p.norm >= 0) op.activation = operation<Norm>(p.norm).activation;
  if (p.squeeze >= 0) op.gate = squeezes_[static_cast<size_t>(p.squeeze)].gate;
  return op;
}

fused::Pointwise Program::pointwise(int i) {
  const PlannedNode &p = node(i), &from = node(p.source);
  fused::Pointwise op{};
  op.images = shape_.images;
  op.pixels = p.height * p.width;
  op.in = from.channels;
  op.out = p.channels;
  op.input = operand(i);
  op.squeeze = squeeze_of(p.squeeze);
  op.tile = fused::tile_rows(op.in, op.out);
  op.wide = op.out > op.in;
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

fused::Depthwise Program::depthwise(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  const Convolution& c = operation<Convolution>(i);
  fused::Depthwise op{};
  op.images = shape_.images;
  op.height = from.height;
  op.width = from.width;
  op.out_height = p.height;
  op.out_width = p.width;
  op.channels = p.channels;
  op.kernel = c.kernel;
  op.stride = c.stride;
  op.top = zeros_before(c, from.height);
  op.left = zeros_before(c, from.width);
  op.block = forward_block(op);
  op.input = operand(i);
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

fused::Dense Program::dense(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  const Convolution& c = operation<Convolution>(i);
  fused::Dense op{};
  op.images = shape_.images;
  op.height = from.height;
  op.width = from.width;
  op.out_height = p.height;
  op.out_width = p.width;
  op.in = from.channels;
  op.out = p.channels;
  op.kernel = c.kernel;
  op.stride = c.stride;
  op.top = zeros_before(c, from.height);
  op.left = zeros_before(c, from.width);
  choose_rows(op);
  // The gradient of the input is added to the buffer that dy is in: an image is read before it is
  // written.
  if (p.norm < 0 && node(p.next_norm).skip == p.source) op.input_rows = op.height;
  op.input = operand(i);
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

fused::Stem Program::stem(int i) const {
  const PlannedNode& p = node(i);
  const Convolution& c = operation<Convolution>(i);
  fused::Stem op{};
  op.images = shape_.images;
  op.height = shape_.height;
  op.width = shape_.width;
  op.out_height = p.height;
  op.out_width = p.width;
  op.in = network_.parameters[static_cast<size_t>(c.weight)].shape[1];
  op.out = p.channels;
  op.kernel = c.kernel;
  op.stride = c.stride;
  op.top = zeros_before(c, shape_.height);
  op.left = zeros_before(c, shape_.width);
  op.x = inputs_.images;
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

fused::Join Program::join(int i) const {
  const PlannedNode& p = node(i);
  fused::Join op{};
  op.images = shape_.images;
  op.pixels = p.height * p.width;
  op.channels = p.channels;
  const Norm& norm = operation<Norm>(i);
  op.rectified = p.skip >= 0 && !norm.adds_last && norm.activation == ops::Activation::relu;
  if (!op.rectified) op.activation = norm.activation;
  op.x = at(node(p.source).output);
  op.norm = norm_vectors(i);
  op.mask = mask(i);
  op.skip = p.skip < 0 ? nullptr : at(node(p.skip).output);
  op.y = at(p.output);
  op.dy = at(p.gradient);
  return op;
}

fused::MaxPool Program::max_pool(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  const MaxPool& pool = operation<MaxPool>(i);
  fused::MaxPool op{};
  op.images = shape_.images;
  op.height = from.height;
  op.width = from.width;
  op.out_height = p.height;
  op.out_width = p.width;
  op.channels = p.channels;
  op.kernel = pool.kernel;
  op.stride = pool.stride;
  op.padding = pool.padding;
  op.input = operand(i);
  op.y = at(p.output);
  op.dy = at(p.gradient);
  return op;
}

fused::Pool Program::pool(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  fused::Pool op{};
  op.images = shape_.images;
  op.pixels = from.height * from.width;
  op.channels = p.channels;
  op.input = operand(i);
  op.y = at(p.output);
  op.spread = at(p.gradient);
  return op;
}

fused::Linear Program::linear(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  const int parameter = operation<Linear>(i).weight;
  return {shape_.images,   from.channels,     p.channels,
          at(from.output), weight(parameter), weight(parameter + 1)};
}

}  // namespace shoal::models
