#include "data/container/image_extensions.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/text.h"

namespace shoal::data {
namespace {

// For the image of a WebDataset sample, only the first kSampleExtensions of these count.
constexpr std::string_view kExtensions[] = {
    "jpg", "jpeg", "png", "webp", "jpe",  "jfif", "bmp",  "dib", "tif", "tiff", "gif", "ppm",
    "pgm", "pbm",  "pnm", "jp2",  "heic", "heif", "avif", "jxl", "ico", "tga",  "exr", "hdr"};
constexpr size_t kSampleExtensions = 4;

bool is_among_first(std::string_view extension, size_t count) {
  const auto end = std::begin(kExtensions) + count;
  return std::find(std::begin(kExtensions), end, lower(std::string(extension))) != end;
}

}  // namespace

bool has_image_extension(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  return is_among_first(name.substr(dot + 1), std::size(kExtensions));
}

bool is_sample_extension(std::string_view extension) {
  return is_among_first(extension, kSampleExtensions);
}

}  // namespace shoal::data
