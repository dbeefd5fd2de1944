#pragma once
// Options of a model that is exported as one file (train/checkpoint/export.h). Does not use
// LibTorch.

#include <optional>

namespace shoal::train {

struct ExportFileOptions {
  // onnx: network, weights and metadata. safetensors: as --export-dir's model.safetensors.
  // torchvision: a state dict, in a file of torch.save.
  enum class Format { onnx, safetensors, torchvision };
  std::optional<Format> format;  // unset: by the file's name, else ONNX

  // Only for ONNX.
  bool dynamic_batch = false;       // any number of images; false: one image
  bool with_preprocessing = false;  // uint8 images of any size instead of normalized crops
};

}  // namespace shoal::train
