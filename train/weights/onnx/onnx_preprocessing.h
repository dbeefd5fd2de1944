#pragma once
// Adds the preprocessing of evaluation to an ONNX model. Does not use LibTorch.

#include <string>

#include "data/data_options.h"
#include "train/weights/onnx/onnx_graph.h"

namespace shoal::train {

// Adds the input "images", uint8 batch×height×width×channels, and the nodes that resize, crop and
// normalize the images like data::Transform::evaluation_row(). Returns the name of the result,
// float32 batch×channels×size×size.
//
// Like Pillow, resizes in two passes, horizontal first, and rounds to 8 bits after each. Pixels
// may differ from data::Transform's by one level, because the runtime computes positions and sums
// in float32, and because Pillow does the vertical pass first for images more than twice as high
// as wide.
std::string add_preprocessing(OnnxGraph& graph, const OnnxDimension& batch,
                              const data::TransformOptions& evaluation);

}  // namespace shoal::train
