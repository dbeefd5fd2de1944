#pragma once
// Reads the MATLAB file in ImageNet's devkit: meta.mat, which maps class numbers to class names
// (WordNet IDs). Source: MathWorks, "MAT-File Format", level 5.

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace shoal::data {

// Whether `bytes` starts with the header of a level 5 MAT-file.
bool is_mat_file(std::span<const uint8_t> bytes);

// Returns the map ILSVRC2012_ID → WNID from the array of structures `synsets`. Throws
// std::invalid_argument if the bytes are something else. The message begins with a verb, so that
// the caller can prepend the file's name.
std::map<int64_t, std::string> read_meta_mat(std::span<const uint8_t> bytes);

}  // namespace shoal::data
