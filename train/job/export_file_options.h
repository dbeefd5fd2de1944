#pragma once
// Options of a model that is exported as one file (train/checkpoint/export.h). Does not use
// LibTorch.

#include <optional>

namespace shoal::train {

struct ExportFileOptions {
  // onnx: network, weights and metadata. safetensors: the same file as model.safetensors in
  // --export-dir. torchvision: a state dict, in the file format of torch.save.
  enum class Format { onnx, safetensors, torchvision };
  std::optional<Format> format;  // unset: by the file's extension; ONNX if it has none

  // These two options apply only to ONNX.
  bool dynamic_batch = false;       // any number of images; false: one image
  bool with_preprocessing = false;  // uint8 images of any size instead of normalized crops
};

}  // namespace shoal::train
