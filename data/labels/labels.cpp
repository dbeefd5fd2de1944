#include "data/labels/labels.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/file/whole_file.h"
#include "base/text.h"
#include "data/container/image_extensions.h"
#include "data/labels/devkit.h"
#include "data/labels/image_key.h"
#include "data/labels/mat_file.h"

namespace shoal::data {
namespace {

constexpr std::string_view kGaps = " \t\r,";

// `path` appears in messages.
std::vector<std::string> lines_of(const std::string& text, const std::string& path) {
  std::istringstream file(text.substr(byte_order_mark(text)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && kGaps.find(line.back()) != std::string_view::npos) line.pop_back();
    lines.push_back(std::move(line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) throw std::invalid_argument("the label file " + path + " is empty");
  return lines;
}

std::string text_of(const std::string& path) {
  auto text = read_if_readable(path);
  if (!text) throw std::invalid_argument("cannot read the label file " + path);
  return std::move(*text);
}

std::map<int64_t, std::string> numbers_in(std::span<const uint8_t> meta_mat,
                                          const std::string& path) {
  try {
    return read_meta_mat(meta_mat);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + " " + error.what());
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = line.find_first_not_of(kGaps); at != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(kGaps, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kGaps, end);
  }
  return words;
}

// Returns the field that begins at `at`, without the blanks and quotes around it. Moves `at` past
// the next separator.
std::string field_at(const std::string& line, char separator, size_t& at) {
  // Several tabs separate the columns of an aligned table, but two commas enclose an empty field.
  at = line.find_first_not_of(separator == ',' ? std::string_view(" \t\r") : kGaps, at);
  if (at == std::string::npos) return "";
  const bool quoted = line[at] == '"';
  const size_t begin = at + (quoted ? 1 : 0);
  size_t end = line.find(quoted ? '"' : separator, begin);
  std::string field = line.substr(begin, end - begin);
  if (quoted) end = line.find(separator, end);
  at = end == std::string::npos ? line.size() : end + 1;
  field.erase(field.find_last_not_of(kGaps) + 1);  // npos + 1 is 0
  return field;
}

// Returns the image and the class in a line. A tab or comma separates them, and both may then
// contain blanks. Without a tab or comma, blanks separate them. In ImageNet's LOC_val_solution.csv,
// where each bounding box is a class and four numbers, takes only the first class.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  const char separator = line.find('\t') != std::string::npos ? '\t' : ',';
  const size_t first = line.find(separator);
  if (first == std::string::npos) return words;
  // In `img.jpg cat,tabby`, the comma is part of the class name.
  const bool blank = line.find_first_of(" \t") < first;
  if (separator == ',' && blank && has_image_extension(words[0])) return words;
  size_t at = 0;
  std::string image = field_at(line, separator, at), name = field_at(line, separator, at);
  words = words_of(name);
  const bool boxes = words.size() >= 5 && words.size() % 5 == 0 &&
                     std::all_of(words.begin() + 1, words.begin() + 5, [](const auto& word) {
                       return parse_whole_number(word).has_value();
                     });
  return {std::move(image), boxes ? words[0] : std::move(name)};
}

// Whether the first line is a header: its words are usual names for the two columns.
bool is_header(const std::vector<std::string>& words) {
  static const std::set<std::string> kImage = {"image",     "imageid", "image_id", "filename",
                                               "file_name", "file",    "path",     "name"};
  static const std::set<std::string> kClass = {"label",    "class",  "class_name",
                                               "category", "target", "predictionstring"};
  return words.size() == 2 && kImage.contains(lower(words[0])) && kClass.contains(lower(words[1]));
}

// Whether the first line is a header with names that is_header() does not know: its first word does
// not have the form of an image's file name, but the first word of the second line does.
bool is_header_above(const std::vector<std::string>& words, const std::vector<std::string>& lines) {
  if (words.empty() || lines.size() < 2 || has_image_extension(words[0])) return false;
  const std::vector<std::string> next = columns_of(lines[1]);
  return !next.empty() && has_image_extension(next[0]);
}

[[noreturn]] void refuse_line(const std::string& path, size_t line, const std::string& what) {
  throw std::invalid_argument(path + " line " + std::to_string(line + 1) + ": " + what);
}

}  // namespace

LabelFile::LabelFile(const std::string& path, const std::string& synsets,
                     const std::vector<std::string>& known)
    : path_(path) {
  const std::optional<Devkit> kit =
      std::filesystem::is_regular_file(path) ? open_devkit(path) : std::nullopt;
  const auto lines = lines_of(kit ? kit->ground_truth : text_of(path), path);
  numbered_ = std::all_of(lines.begin(), lines.end(), [](const std::string& line) {
    return parse_whole_number(line).has_value();
  });
  if (!numbered_ && !synsets.empty())
    throw std::invalid_argument("--val-synsets cannot be used here: " + path +
                                " names the classes itself");
  if (numbered_) {
    if (synsets.empty() && !kit)
      throw std::invalid_argument(
          path_ +
          " has only numbers, as in ImageNet's devkit; give the class of each number with "
          "--val-synsets FILE: the devkit's meta.mat, or lines `CLASS NUMBER` (map_clsloc.txt)");
    read_numbers(lines, synsets.empty() ? numbers_in(kit->meta, path) : read_synsets(synsets));
  } else {
    read_pairs(lines, known);
  }
  for (const auto& [number, name] : by_number_) classes_.push_back(name);
  for (const auto& [image, name] : by_name_) classes_.push_back(name);
  std::sort(classes_.begin(), classes_.end());
  classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
}

void LabelFile::read_numbers(const std::vector<std::string>& lines,
                             const std::map<int64_t, std::string>& names) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto found = names.find(*parse_whole_number(lines[i]));
    if (found == names.end()) refuse_line(path_, i, "no class has the number " + lines[i]);
    by_number_[static_cast<int64_t>(i) + 1] = found->second;
  }
}

void LabelFile::read_pairs(const std::vector<std::string>& lines,
                           const std::vector<std::string>& known) {
  const std::set<std::string_view> names(known.begin(), known.end());
  bool numbers = !known.empty();
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> words = columns_of(lines[i]);
    if (i == 0 && (is_header(words) || is_header_above(words, lines))) continue;
    if (words.size() < 2 || words[0].empty() || words[1].empty())
      refuse_line(path_, i, "expected the name of an image and its class");
    const auto [found, fresh] = by_name_.emplace(stem_of(words[0]), words[1]);
    if (!fresh && found->second != words[1])
      refuse_line(path_, i, "another line gives " + words[0] + " another class");
    numbers = numbers && parse_whole_number(words[1]) && !names.contains(words[1]);
  }
  if (!numbers) return;
  for (auto& [image, name] : by_name_) {
    const int64_t number = *parse_whole_number(name);
    if (number >= static_cast<int64_t>(known.size()))
      throw std::invalid_argument(path_ + ": the class " + name + " of " + image +
                                  " is not below " + std::to_string(known.size()) +
                                  ", the number of classes in the training set");
    name = known[static_cast<size_t>(number)];
  }
}

size_t LabelFile::class_of(const std::string& name) const {
  const std::string stem(stem_of(name));
  const std::string* found = nullptr;
  if (numbered_) {
    const auto number = number_at_end(name);
    const auto entry = number ? by_number_.find(*number) : by_number_.end();
    if (entry != by_number_.end()) found = &entry->second;
  } else {
    const auto entry = by_name_.find(stem);
    if (entry != by_name_.end()) found = &entry->second;
  }
  if (found == nullptr) throw std::invalid_argument(path_ + " has no class for the image " + name);
  return static_cast<size_t>(std::lower_bound(classes_.begin(), classes_.end(), *found) -
                             classes_.begin());
}

std::map<int64_t, std::string> read_synsets(const std::string& path) {
  const std::string text = text_of(path);
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  if (is_mat_file(bytes)) return numbers_in(bytes, path);
  std::map<int64_t, std::string> names;
  const std::vector<std::string> lines = lines_of(text, path);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> words = words_of(lines[i]);
    const auto number = words.size() < 2 ? std::nullopt : parse_whole_number(words[1]);
    if (!number)
      refuse_line(path, i, "expected a class and its number in the devkit, as in `n02119789 1`");
    if (!names.emplace(*number, words[0]).second)
      refuse_line(path, i, "another line gives the number " + words[1] + " to another class");
  }
  return names;
}

}  // namespace shoal::data
