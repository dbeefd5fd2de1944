#pragma once
// The safetensors format: a header of JSON with names, types, shapes and places, then the tensors'
// bytes. Python's safetensors reads what is written here, and this reads its files.
//
//   8 bytes   N, length of the header, little-endian
//   N bytes   {"__metadata__": {text: text}, "fc.weight": {"dtype": "F32", "shape": [10, 512],
//             "data_offsets": [0, 20480]}, …}, filled up with blanks to a multiple of 8
//   the rest  tensors, row-major, without gaps; offsets count from here

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"

namespace shoal::train {

struct Safetensors {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

// Floating-point tensors are written as 32-bit, whole numbers as 64-bit. They may lie anywhere.
void write_safetensors(const Safetensors& content,
                       const std::function<void(const void*, size_t)>& sink);

// Whether the bytes begin as such a file does.
bool is_safetensors(const std::vector<char>& bytes);

// `where` stands in messages. Tensors are contiguous copies on the CPU, of the type they have in
// the file (F64, F32, F16, BF16, I64, I32, I16, I8, U8). Throws std::runtime_error when the bytes
// are no such file or end early.
Safetensors read_safetensors(const std::vector<char>& bytes, const std::string& where);

}  // namespace shoal::train
