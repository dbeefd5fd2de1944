#pragma once
// Named sets of option values from published training runs, as far as shoal has the parts.
// Torch-free.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::app {

struct Recipe {
  std::string name;
  std::string
      summary;  // one line: the model, the published accuracy, and differences from the source
  std::string source;  // where the values come from
  // Option, value; the command line overrides them.
  std::vector<std::pair<std::string, std::string>> values;
};

const std::vector<Recipe>& recipes();

// The recipe of that name, or null.
const Recipe* find_recipe(std::string_view name);

// All recipes with their values, for `--recipe list`.
std::string recipe_list();

}  // namespace shoal::app
