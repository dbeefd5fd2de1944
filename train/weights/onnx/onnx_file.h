#pragma once
// Writes a network with its weights as an ONNX model (opset 18), for onnxruntime, OpenVINO,
// TensorRT and others. Does not use LibTorch.
//
//   input    "images": float32 N×channels×size×size, normalized; with preprocessing: uint8
//            N×height×width×channels of any size, like the array of a Pillow image
//   output   "logits": float32 N×classes, with the same operations as models/executor.h in
//            evaluation mode
//
// Weights and buffers keep torchvision's names. Batch norm stays a node of its own, because
// onnxruntime and others fold it into the convolution when they load the model.

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/data_options.h"
#include "models/network.h"

namespace shoal::train {

// Returns the elements of the parameter or running statistic with this name, row-major; empty if
// there is none. They must stay valid until onnx_file() returns.
using FindTensor = std::function<std::span<const float>(const std::string& name)>;

struct OnnxOptions {
  data::TransformOptions evaluation;  // size, resize, interpolation, channels, normalization
  bool dynamic_batch = false;         // true: each call may choose N; false: N = 1
  bool with_preprocessing = false;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Returns the file. Throws std::runtime_error if a tensor is missing or has another number of
// elements than in the network.
std::string onnx_file(const models::Network& network, const FindTensor& find,
                      const OnnxOptions& options);

}  // namespace shoal::train
