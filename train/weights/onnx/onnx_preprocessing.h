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
// Pixels are bit-equal to data::Transform's in every runtime that computes in float64, whatever its
// order of summation. The model resizes in two passes and rounds to 8 bits after each. Images may
// have any size; the first pass needs about 24 bytes of memory for each pixel that it reads, for
// all images of the batch at once.
std::string add_preprocessing(OnnxGraph& graph, const OnnxDimension& batch,
                              const data::TransformOptions& evaluation);

}  // namespace shoal::train
