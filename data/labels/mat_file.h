#pragma once
// Reads ImageNet's one MATLAB file: the devkit's meta.mat, which maps the devkit's numbers to
// classes. Source: MathWorks, "MAT-File Format", level 5.

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace shoal::data {

bool is_mat_file(std::span<const uint8_t> bytes);

// Returns ILSVRC2012_ID → WNID from the array of structures `synsets`. Throws std::invalid_argument
// with a message that continues the file's name if the bytes are something else.
std::map<int64_t, std::string> read_meta_mat(std::span<const uint8_t> bytes);

}  // namespace shoal::data
