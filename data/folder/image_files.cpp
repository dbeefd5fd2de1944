#include "data/folder/image_files.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "data/file.h"
#include "data/image/formats.h"

namespace shoal::data {
namespace {

constexpr std::string_view kExtensions[] = {
    "jpg", "jpeg", "jpe", "jfif", "png",  "webp", "bmp",  "dib", "tif", "tiff", "gif", "ppm",
    "pgm", "pbm",  "pnm", "jp2",  "heic", "heif", "avif", "jxl", "ico", "tga",  "exr", "hdr"};
constexpr size_t kExamples = 3;

std::string count_of(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

bool has_image_extension(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string extension(name.substr(dot + 1));
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
         std::end(kExtensions);
}

bool is_image(std::string_view name, std::span<const uint8_t> head) {
  return has_image_extension(name) || recognise(head) != Format::unknown;
}

bool is_image_file(const std::string& path) {
  if (has_image_extension(path)) return true;
  try {
    std::array<uint8_t, kImageHead> head{};
    const int64_t count = File(path).read_at(0, head.data(), kImageHead);
    return is_image(path, std::span(head).first(static_cast<size_t>(count)));
  } catch (const FileFailure&) {
    return true;
  }
}

void LeftOut::add(std::string_view file) {
  ++files;
  if (examples.size() < kExamples) examples.emplace_back(file);
}

void LeftOut::add(const LeftOut& more) {
  files += more.files;
  hidden += more.hidden;
  for (const std::string& example : more.examples)
    if (examples.size() < kExamples) examples.push_back(example);
}

std::string LeftOut::sentence(const std::string& source) const {
  std::string text = source + ": left out ";
  if (files > 0) {
    text += count_of(files, "file") + (files == 1 ? " that is no image" : " that are no images") +
            " by name or content (";
    for (size_t i = 0; i < examples.size(); ++i) text += (i == 0 ? "" : ", ") + examples[i];
    text += files > static_cast<int64_t>(examples.size()) ? ", …)" : ")";
  }
  if (hidden > 0) text += (files > 0 ? " and " : "") + count_of(hidden, "hidden file");
  return text;
}

}  // namespace shoal::data
