#include "data/container/image_files.h"

#include <array>

#include "base/format/counted.h"
#include "base/text.h"
#include "data/container/image_extensions.h"
#include "data/file.h"
#include "data/image/formats.h"

namespace shoal::data {
namespace {

constexpr size_t kExamples = 3;

}  // namespace

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

void LeftOut::add_loose(std::string_view image) {
  if (loose++ == 0) loose_example = image;
}

void LeftOut::add_broken(std::string_view link) {
  if (broken++ == 0) broken_example = link;
}

void LeftOut::add_damaged(std::string_view record) {
  if (damaged++ == 0) damaged_example = record;
}

void LeftOut::add(const LeftOut& more) {
  files += more.files;
  if (loose == 0) loose_example = more.loose_example;
  loose += more.loose;
  hidden += more.hidden;
  if (broken == 0) broken_example = more.broken_example;
  broken += more.broken;
  if (damaged == 0) damaged_example = more.damaged_example;
  damaged += more.damaged;
  for (const std::string& example : more.examples)
    if (examples.size() < kExamples) examples.push_back(example);
}

std::string LeftOut::sentence(const std::string& source) const {
  std::vector<std::string> parts;
  if (files > 0)
    parts.push_back(counted(files, "file") +
                    (files == 1 ? " that is not an image" : " that are not images") +
                    " by name or content (" + joined(examples) +
                    (files > static_cast<int64_t>(examples.size()) ? ", …)" : ")"));
  const auto with_example = [&](int64_t count, const std::string& what, const std::string& example,
                                const std::string& where) {
    if (count > 0)
      parts.push_back(counted(count, what) + where + " (" + example + (count > 1 ? ", …)" : ")"));
  };
  with_example(loose, "image", loose_example, " beside the class folders");
  with_example(broken, "broken link", broken_example, "");
  with_example(damaged, "damaged record", damaged_example, " with a wrong checksum");
  if (hidden > 0) parts.push_back(counted(hidden, "hidden file"));
  const std::string last = parts.back();
  parts.pop_back();
  return source + ": left out " + (parts.empty() ? last : joined(parts) + " and " + last);
}

}  // namespace shoal::data
