#pragma once
// Extracts the part of an image's name by which label files identify the image.

#include <cstdint>
#include <optional>
#include <string_view>

namespace shoal::data {

// Returns `name` without its folder and extension.
std::string_view stem_of(std::string_view name);

// Returns the number at the end of stem_of(name): 7 for "val/ILSVRC2012_val_00000007.JPEG". Returns
// nothing if there is no number or it does not fit into int64_t.
std::optional<int64_t> number_at_end(std::string_view name);

}  // namespace shoal::data
