#pragma once
// Rewrites a command line to the forms that cxxopts supports. Used by command_line.cpp.

#include <string>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

struct RewrittenWords {
  // The positional arguments and the options, with other programs' options already translated to
  // shoal's. Options are written --name, --name VALUE (two words) if the value is required, or
  // --name=VALUE if it is optional.
  std::vector<std::string> words;
  // Names of the options in `words`, in the same order and with leading dashes. For an option of
  // another program, the name that the user gave, or "" if shoal has several options instead.
  std::vector<std::string> written;
  // If the options show that the command line was written for another program: the recipe with that
  // program's defaults. Otherwise empty.
  std::string recipe;
};

// Replaces '_' by '-' and one-letter forms by names, resolves --no-NAME, joins a list of numbers
// with commas, makes required values separate words, joins optional values with '=', and translates
// other programs' options. Options without effect add a message to `ineffective`. Throws UserError;
// one error names all unknown options.
RewrittenWords rewrite(Command command, const std::vector<std::string>& words,
                       std::vector<std::string>& ineffective);

}  // namespace shoal::app
