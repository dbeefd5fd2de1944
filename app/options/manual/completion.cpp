#include "app/options/manual/completion.h"

#include <algorithm>
#include <cctype>

#include "app/options/recipes.h"
#include "app/weights/known_weights.h"
#include "base/text.h"
#include "models/catalogue.h"

namespace shoal::app {
namespace {

void add_command_names(std::vector<std::string>& words) {
  for (const CommandRow& row : commands()) words.push_back(row.name);
}

// Adds the completions of one alternative of a placeholder such as N|FILE. A word in lower case is
// itself a completion.
void add_alternative(const std::string& part, Values& values) {
  const bool is_word = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
    return std::islower(c) || c == '-';
  });
  if (is_word) values.words.push_back(part);
  if (part == "DIR") values.paths = Values::Paths::folders;
  if (part == "FILE" || part == "PATH" || part == "WHAT") values.paths = Values::Paths::files;
}

}  // namespace

Values values_of_option(const Option& option) {
  Values values;
  values.words = option.choices;
  if (option.name == "model" || option.name == "layers") values.words = models::names();
  if (option.name == "recipe") {
    values.words = {"list", "none"};
    for (const Recipe& recipe : recipes()) values.words.push_back(recipe.name);
  }
  if (option.name == "weights")
    for (const KnownWeights& weights : known_weights()) values.words.push_back(weights.name);
  if (option.choices.empty())
    for (const std::string& part : split(option.placeholder, '|')) add_alternative(part, values);
  return values;
}

Values values_of_words(const CommandRow& row) {
  Values values;
  switch (row.command) {
    case Command::config:
      add_command_names(values.words);
      break;
    case Command::completion:
      values.words = {"bash", "zsh", "fish", "man", "all"};
      add_command_names(values.words);
      break;
    case Command::bench:
      values.words = {"loader", "step", "scaling"};
      values.paths = Values::Paths::files;
      break;
    case Command::prepare:
      values.words = {"imagenet"};
      values.paths = Values::Paths::folders;
      break;
    case Command::models:
      values.words = models::names();
      break;
    case Command::weights:
      for (const KnownWeights& weights : known_weights()) values.words.push_back(weights.name);
      break;
    default:
      if (row.takes_paths || row.command == Command::train || row.command == Command::check)
        values.paths = row.takes_paths && row.command != Command::runs ? Values::Paths::files
                                                                       : Values::Paths::folders;
  }
  return values;
}

std::vector<const Option*> completed_options(Command command) {
  const Command of = command == Command::config ? Command::train : command;
  std::vector<const Option*> result;
  for (const Option& option : options())
    if (option.is_for(of)) result.push_back(&option);
  return result;
}

std::vector<std::pair<std::string, std::string>> manual_files(const std::string& version) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"bash-completion/completions/shoal", bash_completion()},
      {"zsh/site-functions/_shoal", zsh_completion()},
      {"zsh/vendor-completions/_shoal", zsh_completion()},  // where Debian's zsh looks
      {"fish/vendor_completions.d/shoal.fish", fish_completion()},
      {"man/man1/shoal.1", manual_page(nullptr, version)}};
  for (const CommandRow& row : commands())
    files.emplace_back("man/man1/shoal-" + row.name + ".1", manual_page(&row, version));
  return files;
}

}  // namespace shoal::app
