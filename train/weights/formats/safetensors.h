#pragma once
// The safetensors format: a JSON header with names, dtypes, shapes and offsets, followed by the
// tensors' bytes. Compatible with Python's safetensors in both directions.
//
//   8 bytes   N, length of the header, little-endian
//   N bytes   {"__metadata__": {text: text}, "fc.weight": {"dtype": "F32", "shape": [10, 512],
//             "data_offsets": [0, 20480]}, …}, padded with spaces to a multiple of 8
//   the rest  the tensors, row-major, without gaps; data_offsets are relative to this position

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "train/weights/checkpoint_file.h"
#include "train/weights/formats/safetensors_header.h"

namespace shoal::train {

struct Safetensors {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

// Writes floating-point tensors as F32 and integers as I64. Tensors may be on any device.
void write_safetensors(const Safetensors& content,
                       const std::function<void(const void*, size_t)>& sink);

// Parses a safetensors file. `where` appears in messages. Tensors are contiguous CPU copies with
// the file's dtypes (F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL). Throws std::runtime_error
// if the bytes are malformed, end early, or contain another dtype.
Safetensors read_safetensors(const std::vector<char>& bytes, const std::string& where);

}  // namespace shoal::train
