#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace shoal {
namespace {

size_t length_gap(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

// Returns how many insertions, deletions, replacements and swaps of neighboring letters are needed
// to turn `a` into `b` (optimal string alignment distance).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j - 1] + (a[i - 1] != b[j - 1]), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// Removes the first word of a name, up to a dash, and returns it.
std::string_view take_word(std::string_view& name) {
  const std::string_view word = name.substr(0, name.find('-'));
  name.remove_prefix(std::min(word.size() + 1, name.size()));
  return word;
}

// Returns how many letters of `name` have no counterpart in `known`, regardless of their order.
size_t missing_letters(std::string_view name, std::string_view known) {
  std::array<int16_t, 256> left{};
  for (const char c : known) ++left[static_cast<unsigned char>(c)];
  size_t missing = 0;
  for (const char c : name) missing += --left[static_cast<unsigned char>(c)] < 0 ? 1 : 0;
  return missing;
}

// Whether `written` can be `word` with typing errors. Words of one or two letters must match
// exactly.
bool is_slip(std::string_view written, std::string_view word) {
  const size_t most = written.size() < 3 ? 0 : written.size() < 8 ? 1 : 2;
  if (length_gap(written, word) > most) return false;
  if (most == 0) return written == word;
  // Each edit replaces or removes at most one letter that `word` lacks, so the edit distance is at
  // least missing_letters(). Checks missing_letters() first: it is cheap and decides most cases.
  return missing_letters(written, word) <= most && edit_distance(written, word) <= most;
}

// Whether `name` can be a misspelling of `known`. Compares word by word if both have the same
// number of words, because min-size is only two edits from max-size although min is not a
// misspelling of max.
bool may_be_misspelled(std::string_view name, std::string_view known) {
  const auto dashes = std::ranges::count(name, '-');
  if (dashes != std::ranges::count(known, '-')) return is_slip(name, known);
  for (auto i = dashes; i >= 0; --i) {
    if (!is_slip(take_word(name), take_word(known))) return false;
  }
  return true;
}

// Whether other programs use `word` in option names where shoal leaves it out: --data-path for
// --data, --num-workers for --workers.
bool is_filler(std::string_view word) {
  static const std::set<std::string_view> fillers = {
      "path", "dir", "folder", "file", "root", "name", "num", "number", "n", "use", "set", "input"};
  return fillers.contains(word);
}

// Tells whether `name` can stand for a known name: as its start (resnet for resnet50), as one or
// more of its words (decay for weight-decay), or as the known name plus filler words (data-path for
// data).
class Part {
 public:
  explicit Part(std::string_view name)
      : name_(name), inside_("-" + name_ + "-"), long_(name.size() >= 3 && !is_filler(name)) {
    for (auto i = std::ranges::count(name, '-'); i >= 0; --i) {
      const std::string_view word = take_word(name);
      if (!is_filler(word)) rest_.append(rest_.empty() ? "" : "-").append(word);
    }
  }
  bool of(std::string_view known) const {
    if (rest_ == known) return true;
    if (!long_) return false;
    const std::string_view inside = inside_;
    return known.starts_with(name_) || known.ends_with(inside.substr(0, inside.size() - 1)) ||
           known.find(inside) != known.npos;
  }

 private:
  std::string name_, inside_;  // inside_: name_ with a dash at each end
  std::string rest_;           // name_ without its filler words
  bool long_;                  // whether name_ may match a part of a known name
};

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted(name);
  const Part part_of_known(wanted);
  std::string best;
  std::tuple<size_t, size_t, size_t> best_distance;
  for (const std::string& candidate : known) {
    const bool part = part_of_known.of(candidate);
    if (!part && !may_be_misspelled(wanted, candidate)) continue;
    // If `name` is a part of the candidate, at most one letter counts as wrong. At equal distances,
    // a candidate with all letters of `name` wins (modl and modle mean model, not mode), then the
    // one closest in length.
    const size_t edits = edit_distance(wanted, candidate);
    const std::tuple distance(part ? std::min<size_t>(edits, 1) : edits,
                              part ? 0 : missing_letters(wanted, candidate),
                              length_gap(wanted, candidate));
    if (best.empty() || distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}

}  // namespace shoal
