#pragma once
// The one MATLAB file that comes with ImageNet: the devkit's meta.mat, which says what class each
// of the devkit's numbers means. Source: MathWorks, "MAT-File Format", level 5.

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace shoal::data {

bool is_mat_file(std::span<const uint8_t> bytes);

// ILSVRC2012_ID → WNID of the array of structures `synsets`. Throws std::invalid_argument, to be
// put behind the file's name, where the bytes are not that.
std::map<int64_t, std::string> read_meta_mat(std::span<const uint8_t> bytes);

}  // namespace shoal::data
