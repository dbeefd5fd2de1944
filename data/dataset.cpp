#include "data/dataset.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"
#include "data/random.h"
#include "data/split.h"

namespace shoal::data {

const Dataset* as_dataset(const Source& source) {
  return dynamic_cast<const Dataset*>(&source);
}

std::string BasicDataset::key(int64_t sample) const {
  return split_key(classes()[static_cast<size_t>(label(sample))], name(sample));
}

void ForwardingDataset::will_read(int64_t first, int64_t count) const {
  for (int64_t i = first, end = first + count; i < end;) {
    const int64_t begin = inner_sample(i++);
    int64_t length = 1;  // number of neighboring samples, starting with `begin`
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

bool are_numbers(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (parse_number<size_t>(names[i]) != i) return false;
  return true;
}

std::string quoted_names(std::vector<std::string> names) {
  for (std::string& name : names) name = "'" + name + "'";
  return joined(names, ", ", 5);
}

std::string case_warning(const std::vector<std::string>& classes) {
  std::map<std::string, const std::string*> first;  // key: name in lower case
  std::vector<std::string> pairs;
  for (const std::string& name : classes) {
    const auto [known, fresh] = first.try_emplace(lower(name), &name);
    if (!fresh) pairs.push_back("'" + *known->second + "' and '" + name + "'");
  }
  if (pairs.empty()) return "";
  return "the classes " + joined(pairs, ", ", 5) +
         " differ only in case; if they are the same class, give them one name";
}

std::string class_difference(const std::vector<std::string>& a, const std::string& in_a,
                             const std::vector<std::string>& b, const std::string& in_b) {
  std::string text;
  const auto add = [&](const auto& from, const std::string& where, const auto& other) {
    const std::set<std::string> known(other.begin(), other.end());
    std::vector<std::string> names;
    for (const std::string& name : from)
      if (!known.contains(name)) names.push_back(name);
    if (!names.empty())
      text += (text.empty() ? "only " : "; only ") + where + ": " + quoted_names(names);
  };
  add(a, in_a, b);
  add(b, in_b, a);
  return text;
}

void check_same_classes(const Source& train, const Source& val) {
  const auto &a = train.classes(), &b = val.classes();
  if (a == b) return;
  std::string text = "training data has " + std::to_string(a.size()) +
                     " classes and validation data " + std::to_string(b.size()) +
                     "; they must be the same";
  const std::string difference = class_difference(a, "in training", b, "in validation");
  if (!difference.empty()) text += "; " + difference;
  if (are_numbers(a) != are_numbers(b))
    text += ". If labels are numbers, name the classes with --classes FILE";
  throw std::invalid_argument(text);
}

}  // namespace shoal::data
