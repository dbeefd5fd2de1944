// The table of kinds of datasets.
#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "base/hash.h"
#include "data/folder/image_folder.h"
#include "data/folder/patterns.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/random.h"
#include "data/sources/open.h"
#include "data/sources/scan_files.h"
#include "data/sources/synthetic.h"
#include "data/stream/pipes.h"

namespace shoal::data {
namespace {

using Opened = std::shared_ptr<const Dataset>;

Opened open_folder(const std::string& path, const OpenOptions& options) {
  return open_image_folder(path,
                           {options.cache_dir, options.threads, options.progress, options.warning});
}

Opened open_path(const std::string& path, const OpenOptions& options) {
  const bool one = is_packed_set(path), sharded = is_sharded_set(path), packed = one || sharded;
  const bool file = std::filesystem::is_regular_file(path) || is_pattern(path);
  if (!packed && (file || holds_only_files(path))) return open_records(path, options);
  if (!options.labels.empty()) refuse_labels(path);
  if (one) return std::make_shared<PackedDataset>(path);
  if (sharded) return std::make_shared<ShardedDataset>(path);
  return open_folder(path, options);
}

Opened open_synthetic(const std::string& text, const OpenOptions& given) {
  if (!given.labels.empty()) refuse_labels("synthetic:" + text);
  SyntheticOptions options;
  int64_t* const fields[] = {&options.images, &options.classes, &options.width, &options.height};
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
        "' is not understood; write synthetic:IMAGES[:CLASSES[:WIDTHxHEIGHT]]");
  return make_synthetic(options);
}

struct Kind {
  std::string_view prefix;
  Opened (*open)(const std::string&, const OpenOptions&);
};
constexpr Kind kKinds[] = {
    {"synthetic:", open_synthetic},
    {"folder:", open_folder},
    {"pipe:", open_pipes},
    {"", open_path},
};

}  // namespace

std::shared_ptr<const Dataset> open_dataset(const std::string& source, const OpenOptions& options) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const Kind& k) { return source.starts_with(k.prefix); });
  return kind->open(source.substr(kind->prefix.size()), options);
}

uint64_t listing_hash(const Dataset& dataset, const std::string& source) {
  const auto hash_text = [](std::string_view text) {
    return hash_bytes(text.data(), static_cast<int64_t>(text.size()));
  };
  uint64_t hash = static_cast<uint64_t>(dataset.size());
  for (const std::string& name : dataset.classes()) hash = combine(hash, hash_text(name));
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::string name = dataset.name(i);
    const size_t skipped = name.starts_with(source) ? source.size() : 0;
    hash = combine(hash, hash_text(std::string_view(name).substr(skipped)));
    hash = combine(hash, static_cast<uint64_t>(dataset.label(i)));
    hash = combine(hash, static_cast<uint64_t>(dataset.encoded_bytes(i)));
  }
  return hash;
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 5); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return names.size() > 5 ? text + " and " + std::to_string(names.size() - 5) + " more" : text;
}

void check_same_classes(const Dataset& train, const Dataset& val) {
  const auto &a = train.classes(), &b = val.classes();
  if (a == b) return;
  const auto missing = [](std::vector<std::string> from, std::vector<std::string> in) {
    std::sort(from.begin(), from.end());
    std::sort(in.begin(), in.end());
    std::vector<std::string> names;
    std::set_difference(from.begin(), from.end(), in.begin(), in.end(), std::back_inserter(names));
    return names.empty() ? "" : quoted_names(names);
  };
  const std::string without_val = missing(a, b), without_train = missing(b, a);
  std::string text = "training data has " + std::to_string(a.size()) +
                     " classes and validation data " + std::to_string(b.size()) +
                     "; they must be the same";
  if (!without_val.empty()) text += "; only in training: " + without_val;
  if (!without_train.empty()) text += "; only in validation: " + without_train;
  const auto numbers = [](const std::vector<std::string>& names) {
    return !names.empty() && names[0] == "0";
  };
  if (numbers(a) != numbers(b)) text += ". Where labels are numbers, --classes FILE names them";
  throw std::invalid_argument(text);
}

}  // namespace shoal::data
