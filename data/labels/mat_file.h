#pragma once
// Reads the only MATLAB file of ImageNet: the devkit's meta.mat, which maps the devkit's class
// numbers to classes. Source: MathWorks, "MAT-File Format", level 5.

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace shoal::data {

bool is_mat_file(std::span<const uint8_t> bytes);

// Returns the map ILSVRC2012_ID → WNID from the array of structures `synsets`. Throws
// std::invalid_argument if the bytes are something else; the caller puts the file's name before the
// message.
std::map<int64_t, std::string> read_meta_mat(std::span<const uint8_t> bytes);

}  // namespace shoal::data
