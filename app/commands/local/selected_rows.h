#pragma once
// Selects the rows of a table that the user named, for `shoal models` and `shoal weights`.

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace shoal::app {

struct RowNames {
  size_t rows = 0;
  std::function<bool(const std::string& word, size_t row)> matches;   // word is a whole name
  std::function<bool(const std::string& word, size_t row)> contains;  // word is part of a name
  std::function<UserError(const std::string& word)> unknown;          // error for an unknown word
};

// Returns the indexes of the rows that the words name, in the order of the words, each once. A word
// names the rows that it matches or, if it matches none, those whose names contain it. Without
// words, returns all rows. Throws unknown() for a word that names nothing.
std::vector<size_t> selected_rows(const std::vector<std::string>& words, const RowNames& names);

}  // namespace shoal::app
