#pragma once
// Collects the settings of a command. Sources, highest precedence first: the command line,
// hyperparameters (hyperparameters.h), the file of --config (config_file.h), the recipe, the name
// of the weights (implied_settings.h), paths from the environment and SageMaker's files
// (app/platform/paths.h), defaults. `shoal` and each `shoal-worker` collect the settings
// independently, with the same result. Does not use LibTorch.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

// Returns the words of the command line, starting with the command. Inserts the command `train` if
// the program is called `train` (a link on PATH for `docker run IMAGE train`), or in a training
// container (`platform`) if neither a command nor --help or --version is given. `argc`, `argv`: the
// arguments of main().
std::vector<std::string> command_words(int argc, const char* const* argv, bool platform);

// Environment variable with the number of words in the user's command line. The launcher may append
// more words for the worker; gather() leaves those out of Arguments::words.
inline constexpr const char* kWordsVariable = "SHOAL_COMMAND_WORDS";

// Returns all settings of a command. `words`: the command and its arguments. Throws UserError if
// the command or a setting is not valid.
Arguments gather(const std::vector<std::string>& words, const dist::Variables& environment,
                 const Files& files = real_files());

// Return the command's options that have a value, grouped by origin and wrapped into lines, for
// printing at the start of a run. Secrets in URLs are masked.
std::string requested_text(const Arguments& arguments);  // options that were set
std::string default_text(const Arguments& arguments);    // options with their default value

// Returns a command line, quoted for a shell, with secrets masked.
std::string shell_text(const std::string& program, const std::vector<std::string>& words);
// Returns the command line of this process.
std::string command_text(const Arguments& arguments);

}  // namespace shoal::app
