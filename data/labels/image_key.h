#pragma once
// Extracts the part of an image's name that files of labels use to identify the image.

#include <cstdint>
#include <optional>
#include <string_view>

namespace shoal::data {

// Returns a name without folder and extension.
std::string_view stem_of(std::string_view name);

// Returns the number at the end of a name without extension: 7 for
// "val/ILSVRC2012_val_00000007.JPEG". Returns nothing if there is no number.
std::optional<int64_t> number_at_end(std::string_view name);

}  // namespace shoal::data
