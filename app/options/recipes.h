#pragma once
// Named sets of option values: what published runs used, as far as this program has the parts.
// Torch-free.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::app {

struct Recipe {
  std::string name;
  std::string summary;  // one line: what it trains, and what of the source it leaves out
  std::string source;   // where the values come from
  // Option, value; the command line overrides them.
  std::vector<std::pair<std::string, std::string>> values;
};

const std::vector<Recipe>& recipes();

// Null when there is none of that name.
const Recipe* find_recipe(std::string_view name);

// A table of all recipes with their values, for `--recipe list`.
std::string recipe_list();

}  // namespace shoal::app
