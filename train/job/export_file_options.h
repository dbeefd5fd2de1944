#pragma once
// Options for exporting a model as a single file (train/checkpoint/export.h). Does not use
// LibTorch.

#include <optional>

namespace shoal::train {

struct ExportFileOptions {
  // onnx: network, weights and metadata. safetensors: the same contents as model.safetensors in
  // --export-dir. torchvision: a state dict, as torch.save writes it.
  enum class Format { onnx, safetensors, torchvision };
  std::optional<Format> format;  // unset: chosen by the extension; no extension: ONNX

  // These two options apply only to ONNX.
  bool dynamic_batch = false;       // accepts any batch size; false: only 1
  bool with_preprocessing = false;  // input: uint8 images of any size; false: normalized crops
};

}  // namespace shoal::train
