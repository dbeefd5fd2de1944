#pragma once
// Adds the filter weights of a resize to an ONNX model. The model computes them from the image's
// size, in double precision and in the same steps as data::Axis. They are therefore Pillow's
// weights, bit for bit. Does not use LibTorch.

#include <string>

#include "data/data_options.h"
#include "train/weights/onnx/onnx_graph.h"

namespace shoal::train {

// One direction of a resize with crop. Divides the output pixels into blocks. All pixels of a block
// read the same window of source pixels, so one small matrix product computes a block. The cost per
// row or column is proportional to its length. One product for all output pixels would cost
// (source pixels) × (output pixels).
struct OnnxAxis {
  std::string pixels;   // int64 blocks×window: indexes of the source pixels that a block reads
  std::string weights;  // float64 blocks×size×window: multiples of 2^-22
};

// Sizes of the blocks of an axis. The last block may end beyond the crop.
struct OnnxBlocks {
  int64_t count = 0, size = 0;
};
OnnxBlocks onnx_blocks(int64_t crop);

// Adds the weights of one direction. `in`, `out`: values of shape {1} and type int64, the number of
// pixels before and after the resize. The output pixels are a centered crop of
// `options.eval_size` pixels; those outside of the resized image get weights of 0 and become black.
OnnxAxis add_axis(OnnxGraph& graph, const std::string& in, const std::string& out,
                  const data::TransformOptions& options);

}  // namespace shoal::train
