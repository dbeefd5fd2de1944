#include "base/nearest.h"

#include <algorithm>
#include <iterator>
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

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '-')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// Whether `written` can be `word` with typing errors. Words of one or two letters must match
// exactly.
bool is_slip(std::string_view written, std::string_view word) {
  const size_t most = written.size() < 3 ? 0 : written.size() < 8 ? 1 : 2;
  return length_gap(written, word) <= most && edit_distance(written, word) <= most;
}

// Whether `name` can be a misspelling of `known`. Compares word by word if both have the same
// number of words, because min-size is only two edits from max-size although min is not a
// misspelling of max.
bool may_be_misspelled(std::string_view name, std::string_view known) {
  const auto written = words_of(name), meant = words_of(known);
  if (written.size() != meant.size()) return is_slip(name, known);
  for (size_t i = 0; i < written.size(); ++i) {
    if (!is_slip(written[i], meant[i])) return false;
  }
  return true;
}

// Whether other programs use `word` in option names where shoal leaves it out: --data-path for
// --data, --num-workers for --workers.
bool is_filler(const std::string& word) {
  static const std::set<std::string> fillers = {
      "path", "dir", "folder", "file", "root", "name", "num", "number", "n", "use", "set", "input"};
  return fillers.contains(word);
}

// Whether `name` is the start of `known` (resnet of resnet50), one or more of its words (decay in
// weight-decay), or `known` with filler words (data-path for data).
bool is_part(const std::string& name, const std::string& known) {
  if (name.size() >= 3 && !is_filler(name) &&
      (known.starts_with(name) || known.ends_with("-" + name) ||
       known.find("-" + name + "-") != known.npos))
    return true;
  std::string rest;
  for (const std::string& word : words_of(name)) {
    if (!is_filler(word)) rest += (rest.empty() ? "" : "-") + word;
  }
  return rest == known;
}

// Returns how many letters of `name` are not in `known`, in any order.
size_t missing_letters(std::string name, std::string known) {
  std::ranges::sort(name);
  std::ranges::sort(known);
  std::string missing;
  std::ranges::set_difference(name, known, std::back_inserter(missing));
  return missing.size();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted(name);
  std::string best;
  std::tuple<size_t, size_t, size_t> best_distance;
  for (const std::string& candidate : known) {
    const bool part = is_part(wanted, candidate);
    if (!part && !may_be_misspelled(wanted, candidate)) continue;
    // A part counts as at most one wrong letter. At equal distances, a candidate with all letters
    // of `name` wins (modl and modle mean model, not mode), then the one closest in length.
    const size_t edits = edit_distance(wanted, candidate);
    const std::tuple distance(part ? std::min<size_t>(edits, 1) : edits,
                              part ? 0 : missing_letters(wanted, candidate),
                              length_gap(wanted, candidate));
    if (best.empty() || distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}

}  // namespace shoal
