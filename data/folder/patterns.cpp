#include "data/folder/patterns.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "base/text.h"
#include "data/folder/listing.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNames = 1'000'000;
constexpr size_t kMaxSearches = 10'000;  // each search reads a whole folder

// Returns the texts that can replace one pair of braces. `inside`: the text between the braces.
// `pattern`: the whole pattern, for messages.
std::vector<std::string> alternatives(const std::string& inside, const std::string& pattern) {
  std::vector<std::string> words;
  if (const size_t dots = inside.find(".."); dots != std::string::npos) {
    const std::string first = inside.substr(0, dots);
    const auto from = parse_whole_number(first), to = parse_whole_number(inside.substr(dots + 2));
    if (!from || !to || *to < *from)
      throw std::invalid_argument("'{" + inside + "}' in " + pattern +
                                  " is malformed; write {FIRST..LAST}, such as {000000..000012}");
    if (static_cast<uint64_t>(*to - *from) >= kMaxNames)
      throw std::invalid_argument(pattern + " names more than a million files");
    for (int64_t i = *from; i <= *to; ++i) {
      std::string digits = std::to_string(i);
      if (first.starts_with('0') && digits.size() < first.size())
        digits.insert(0, first.size() - digits.size(), '0');
      words.push_back(digits);
    }
    return words;
  }
  for (size_t begin = 0; begin <= inside.size();) {
    const size_t end = std::min(inside.find(',', begin), inside.size());
    words.push_back(inside.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Calls `visit` with every expansion of the braces in `text`. `pattern`: the whole pattern, for
// messages.
void expand_braces(const std::string& text, const std::string& pattern,
                   const std::function<void(const std::string&)>& visit) {
  const size_t open = text.find('{');
  const size_t close = open == std::string::npos ? open : text.find('}', open);
  if (close == std::string::npos) return visit(text);
  for (const std::string& word : alternatives(text.substr(open + 1, close - open - 1), pattern))
    expand_braces(text.substr(0, open) + word + text.substr(close + 1), pattern, visit);
}

constexpr char kWildcards[] = "*?[";

// A pattern in two parts. The folder is empty or ends with '/'.
struct Pattern {
  std::string folder, name;

  // Takes the longest existing folder literally, because its name may contain brackets.
  explicit Pattern(const std::string& text) {
    size_t end = text.rfind('/');
    while (end != std::string::npos && end > 0 && !path_exists(text.substr(0, end)))
      end = text.rfind('/', end - 1);
    folder = text.substr(0, end + 1);  // empty if end is npos
    name = text.substr(folder.size());
  }
  bool has_braces() const {
    return name.find('{') < name.find('}') && name.find('}') != std::string::npos;
  }
};

bool has_wildcard(const std::string& name) {
  return name.find_first_of(kWildcards) != std::string::npos;
}

std::vector<std::string> matches(const std::string& folder, const std::string& name) {
  std::string text;
  for (const char letter : folder) {
    if (letter == '\\' || std::string_view(kWildcards).find(letter) != std::string_view::npos)
      text += '\\';
    text += letter;
  }
  text += name;
  glob_t found{};
  const int result = ::glob(text.c_str(), GLOB_ERR, nullptr, &found);
  const int error = result == 0 || result == GLOB_NOMATCH ? 0 : errno;
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  const bool no_folder = error == ENOENT || error == ENOTDIR;
  if (error != 0 && !no_folder)
    throw std::runtime_error("cannot look for files named " + folder + name + ": " +
                             std::strerror(error));
  std::erase_if(paths, [](const std::string& path) { return fs::is_directory(path); });
  return paths;  // sorted by locale; callers that need a fixed order must sort them
}

}  // namespace

bool is_pattern(const std::string& text) {
  const Pattern pattern(text);
  return (pattern.has_braces() || has_wildcard(pattern.name)) && !path_exists(text);
}

std::vector<std::string> expand_pattern(const std::string& text) {
  const Pattern pattern(text);
  std::vector<std::string> paths;
  size_t names = 0, searches = 0;
  std::unordered_set<std::string> found;  // two expansions may match the same file
  const auto add = [&](const std::string& path) {
    if (found.insert(path).second) paths.push_back(path);
  };
  expand_braces(pattern.name, text, [&](const std::string& name) {
    if (++names > kMaxNames) throw std::invalid_argument(text + " names more than a million files");
    const std::string path = pattern.folder + name;
    if (path_exists(path)) {
      add(path);
    } else if (has_wildcard(name)) {
      if (++searches > kMaxSearches)
        throw std::invalid_argument(text +
                                    " searches its folder more than 10,000 times; use braces or "
                                    "wildcards, but not both");
      auto files = matches(pattern.folder, name);
      std::sort(files.begin(), files.end());
      for (const std::string& file : files) add(file);
    } else {
      throw std::invalid_argument("the file " + path + " of " + text + " does not exist");
    }
  });
  if (paths.empty()) throw std::invalid_argument("no file matches " + text);
  return paths;
}

bool matches_files(const std::string& text) {
  const Pattern pattern(text);
  return !matches(pattern.folder, pattern.name).empty();
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths = file_names(folder);
  for (std::string& path : paths) path.insert(0, folder + "/");
  return paths;
}

}  // namespace shoal::data
