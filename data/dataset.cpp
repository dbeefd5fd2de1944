// The table of kinds of datasets.
#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "data/image_folder.h"
#include "data/synthetic.h"

namespace shoal::data {
namespace {

using Opened = std::shared_ptr<const Dataset>;

Opened open_folder(const std::string& path, const OpenOptions& options) {
  return open_image_folder(path,
                           {options.cache_dir, options.threads, options.progress, options.warning});
}

Opened open_synthetic(const std::string& text, const OpenOptions&) {
  SyntheticOptions options;
  int64_t* const fields[] = {&options.pictures, &options.classes, &options.width, &options.height};
  const char separators[] = {':', ':', 'x', '\0'};
  const char *at = text.data(), *const end = at + text.size();
  bool good = true;
  int field = 0;
  for (; good && field < 4; ++field) {
    const auto result = std::from_chars(at, end, *fields[field]);
    good = result.ec == std::errc();
    at = result.ptr;
    if (at == end) break;
    good = good && *at++ == separators[field];
  }
  if (!good || at != end || field == 2)
    throw std::invalid_argument(
        "'synthetic:" + text +
        "' is not understood; write synthetic:PICTURES[:CLASSES[:WIDTHxHEIGHT]]");
  return make_synthetic(options);
}

struct Kind {
  std::string_view prefix;
  Opened (*open)(const std::string&, const OpenOptions&);
};
constexpr Kind kKinds[] = {
    {"synthetic:", open_synthetic},
    {"folder:", open_folder},
    {"", open_folder},
};

}  // namespace

std::shared_ptr<const Dataset> open_dataset(const std::string& source, const OpenOptions& options) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const Kind& k) { return source.starts_with(k.prefix); });
  return kind->open(source.substr(kind->prefix.size()), options);
}

void check_same_classes(const Dataset& train, const Dataset& val) {
  const auto &a = train.classes(), &b = val.classes();
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() && right == b.end()) return;
  const auto text = [](auto at, const auto& list) {
    return at == list.end() ? std::string("none") : "'" + *at + "'";
  };
  throw std::invalid_argument("training data has " + std::to_string(a.size()) +
                              " classes and validation data " + std::to_string(b.size()) +
                              "; they must be the same, and the first that differ are " +
                              text(left, a) + " and " + text(right, b));
}

}  // namespace shoal::data
