#include "data/container/image_files.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/counted.h"
#include "base/text.h"
#include "data/file.h"
#include "data/image/formats.h"

namespace shoal::data {
namespace {

// The first kSampleExtensions are those of images in WebDataset samples.
constexpr std::string_view kExtensions[] = {
    "jpg", "jpeg", "png", "webp", "jpe",  "jfif", "bmp",  "dib", "tif", "tiff", "gif", "ppm",
    "pgm", "pbm",  "pnm", "jp2",  "heic", "heif", "avif", "jxl", "ico", "tga",  "exr", "hdr"};
constexpr size_t kSampleExtensions = 4;
constexpr size_t kExamples = 3;

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

bool is_image(std::string_view name, std::span<const uint8_t> head) {
  return has_image_extension(name) || recognize(head) != Format::unknown;
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

void LeftOut::add_broken(std::string_view link) {
  if (broken++ == 0) broken_example = link;
}

void LeftOut::add(const LeftOut& more) {
  files += more.files;
  hidden += more.hidden;
  if (broken == 0) broken_example = more.broken_example;
  broken += more.broken;
  for (const std::string& example : more.examples)
    if (examples.size() < kExamples) examples.push_back(example);
}

std::string LeftOut::sentence(const std::string& source) const {
  std::string text = source + ": left out ";
  if (files > 0) {
    text += counted(files, "file") +
            (files == 1 ? " that is not an image" : " that are not images") +
            " by name or content (";
    for (size_t i = 0; i < examples.size(); ++i) text += (i == 0 ? "" : ", ") + examples[i];
    text += files > static_cast<int64_t>(examples.size()) ? ", …)" : ")";
  }
  if (broken > 0)
    text += (files > 0 ? " and " : "") + counted(broken, "broken link") + " (" + broken_example +
            (broken > 1 ? ", …)" : ")");
  if (hidden > 0) text += (files + broken > 0 ? " and " : "") + counted(hidden, "hidden file");
  return text;
}

}  // namespace shoal::data
