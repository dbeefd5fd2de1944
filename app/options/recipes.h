#pragma once
// Named sets of option values. Most come from published training runs; features that shoal lacks
// are omitted. Does not use LibTorch.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::app {

struct Recipe {
  std::string name;
  std::string summary;  // one line: model, published accuracy, differences from the source
  std::string source;   // where the values come from
  // Pairs of option and value. The command line, hyperparameters and --config override them.
  std::vector<std::pair<std::string, std::string>> values;
};

const std::vector<Recipe>& recipes();

// Returns the recipe with that name, or null.
const Recipe* find_recipe(std::string_view name);

// Returns the text of `--recipe list`: all recipes with their values.
std::string recipe_list();

}  // namespace shoal::app
