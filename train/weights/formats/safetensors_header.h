#pragma once
// Reads the header of a safetensors file. The file consists of an 8-byte header length, the header
// (JSON) and the tensors. Does not use LibTorch. Source: https://huggingface.co/docs/safetensors

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "train/weights/formats/stored_tensor.h"

namespace shoal::train {

constexpr size_t kSafetensorsLengthBytes = 8;

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  StoredTensors tensors;  // in file order; they point into the file's bytes
};

// Whether the bytes start like a safetensors file.
bool is_safetensors(std::span<const char> bytes);

// Parses the header. `bytes`: the whole file. Throws std::exception if the header is damaged or
// larger than 10 MiB, or if tensors overlap, extend beyond the file, or have an unsupported type.
SafetensorsHeader read_safetensors_header(std::span<const char> bytes);

}  // namespace shoal::train
