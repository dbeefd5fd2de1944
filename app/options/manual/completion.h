#pragma once
// Manual pages and shell completions, generated from the tables of commands and options. Does not
// use LibTorch.

#include <string>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// The words and paths that complete an option's value or a command's positional words.
struct Values {
  enum class Paths { none, files, folders };
  std::vector<std::string> words;
  Paths paths = Paths::none;
};

// Returns the completions of an option's value: its choices, names of models, recipes or weights,
// and paths. Empty for numbers and other text.
Values values_of_option(const Option& option);

// Returns the completions of a command's positional words.
Values values_of_words(const CommandRow& row);

// Returns the options of a command. For `config`: those of `train`.
std::vector<const Option*> completed_options(Command command);

// Each returns the script that completes shoal's command line in one shell.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// Returns the manual page of a command in roff or, if `row` is null, that of shoal itself.
std::string manual_page(const CommandRow* row, const std::string& version);

// Returns the path under share/ and the content of each completion script and manual page.
std::vector<std::pair<std::string, std::string>> manual_files(const std::string& version);

}  // namespace shoal::app
