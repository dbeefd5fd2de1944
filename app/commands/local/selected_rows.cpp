#include "app/commands/local/selected_rows.h"

#include <algorithm>

namespace shoal::app {

std::vector<size_t> selected_rows(const std::vector<std::string>& words, const RowNames& names) {
  std::vector<size_t> selected;
  const auto add = [&](size_t row) {
    if (std::ranges::find(selected, row) == selected.end()) selected.push_back(row);
  };
  for (size_t row = 0; words.empty() && row < names.rows; ++row) add(row);
  for (const std::string& word : words) {
    bool found = false;
    for (const auto& is_named : {names.matches, names.contains}) {
      for (size_t row = 0; row < names.rows; ++row) {
        if (!is_named(word, row)) continue;
        found = true;
        add(row);
      }
      if (found) break;
    }
    if (!found) throw names.unknown(word);
  }
  return selected;
}

}  // namespace shoal::app
