#pragma once
// File name extensions of images.

#include <string_view>

namespace shoal::data {

// Whether `name` has the extension of an image format, even of one that shoal cannot read. Such a
// file counts as an image whatever it contains: a damaged image is then reported, not left out.
bool has_image_extension(std::string_view name);

// Whether a file with this extension (without the dot, in upper or lower case) is the image of a
// WebDataset sample: jpg, jpeg, png or webp. A sample's files in other image formats are extra
// data, such as masks.
bool is_sample_extension(std::string_view extension);

}  // namespace shoal::data
