// Creates the operations of ops/fused from the plan.

#include "models/program/program.h"

namespace shoal::models {

namespace fused = ops::fused;
using fused::padded;

// Whether kernels use non-temporal stores for the output of node i and for gradients of its size.
// Never in bfloat16: the kernels store at most 16 channels at a time, which is only half a cache
// line.
bool Program::streams(int i) const {
  const PlannedNode& p = node(i);
  return shape_.storage == fused::Storage::f32 &&
         ops::exceeds_caches(shape_.images * p.height * p.width * padded(p.channels) *
                             size_of(shape_.storage));
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
  op.tile = fused::forward_tile(op.in, op.out);
  op.wide = op.out > op.in;
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

// Sets the Window fields of convolution i. `height`, `width`: size of its input in pixels.
void Program::set_window(int i, int64_t height, int64_t width, fused::Window& op) const {
  const PlannedNode& p = node(i);
  const Convolution& c = operation<Convolution>(i);
  op = {shape_.images,
        height,
        width,
        p.height,
        p.width,
        c.kernel,
        c.stride,
        zeros_before(c, height),
        zeros_before(c, width)};
}

fused::Depthwise Program::depthwise(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  fused::Depthwise op{};
  set_window(i, from.height, from.width, op);
  op.channels = p.channels;
  op.block = forward_block(op);
  op.input = operand(i);
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

fused::Dense Program::dense(int i) const {
  const PlannedNode &p = node(i), &from = node(p.source);
  fused::Dense op{};
  set_window(i, from.height, from.width, op);
  op.in = from.channels;
  op.out = p.channels;
  choose_items(op, workspace_);
  // If the input is also the second input of the following join, the gradient of the input is added
  // to the buffer that contains dy. So process whole images at a time: all rows of dy are then
  // loaded before any is overwritten.
  if (p.norm < 0 && node(p.next_norm).skip == p.source) op.input_item.rows = op.height;
  op.input = operand(i);
  op.y = at(p.output);
  op.streams = streams(i);
  return op;
}

fused::Stem Program::stem(int i) const {
  const PlannedNode& p = node(i);
  const Convolution& c = operation<Convolution>(i);
  fused::Stem op{};
  set_window(i, shape_.height, shape_.width, op);
  op.in = network_.parameters[static_cast<size_t>(c.weight)].shape[1];
  op.out = p.channels;
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
  static_cast<fused::Window&>(op) = {shape_.images, from.height, from.width,   p.height,    p.width,
                                     pool.kernel,   pool.stride, pool.padding, pool.padding};
  op.channels = p.channels;
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
