#pragma once
// Completions for shells and manual pages, generated from the tables of commands and options. Does
// not use LibTorch.

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

// Returns what an option accepts: its choices, the names of models, recipes or weights, files.
// Empty for numbers and other text.
Values values_of_option(const Option& option);

// Returns what the positional words of a command can be.
Values values_of_words(const CommandRow& row);

// Returns the options of a command. For `config`: those of `train`.
std::vector<const Option*> completed_options(Command command);

// Return the script that completes the command line of shoal in one shell.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// Returns the manual page of a command in roff or, if `row` is null, that of shoal itself.
std::string manual_page(const CommandRow* row, const std::string& version);

// Returns the path under share/ and the content of each completion script and manual page.
std::vector<std::pair<std::string, std::string>> manual_files(const std::string& version);

}  // namespace shoal::app
