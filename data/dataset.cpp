#include "data/dataset.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "base/hash.h"
#include "data/random.h"

namespace shoal::data {

void ForwardingDataset::will_read(int64_t first, int64_t count) const {
  for (int64_t i = first, end = first + count; i < end;) {
    const int64_t begin = inner_sample(i++);
    int64_t length = 1;  // of a run of neighboring samples
    while (i < end && inner_sample(i) == begin + length) ++i, ++length;
    inner_->will_read(begin, length);
  }
}

uint64_t listing_hash(const Dataset& dataset, const std::string& source) {
  uint64_t hash = static_cast<uint64_t>(dataset.size());
  for (const std::string& name : dataset.classes()) hash = combine(hash, hash_bytes(name));
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::string name = dataset.name(i);
    const size_t skipped = name.starts_with(source) ? source.size() : 0;
    hash = combine(hash, hash_bytes(std::string_view(name).substr(skipped)));
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

void check_same_classes(const Source& train, const Source& val) {
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
  if (numbers(a) != numbers(b))
    text += ". If labels are numbers, name the classes with --classes FILE";
  throw std::invalid_argument(text);
}

}  // namespace shoal::data
