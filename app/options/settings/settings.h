#pragma once
// Collects the settings of a command. In falling precedence: the command line, hyperparameters
// (hyperparameters.h), paths from the environment and the platform's files (app/platform/paths.h),
// defaults. `shoal` and each `shoal-worker` collect them independently, with the same result.
// Torch-free.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

// The command line, starting with the command. Adds `train` if the program is called `train` (a link
// on PATH for `docker run IMAGE train`), or in a training container without a command. `argv`: main's.
std::vector<std::string> command_words(int argc, const char* const* argv, bool platform);

// Variable with the number of words the user gave; the launcher appended the rest for the worker.
inline constexpr const char* kWordsVariable = "SHOAL_COMMAND_WORDS";

// `words`: the command and its arguments. Throws UserError.
Arguments gather(const std::vector<std::string>& words, const dist::Variables& environment,
                 const Files& files = real_files());

// The command's options that have a value, grouped by origin and wrapped, for the start of a run.
// Secrets in addresses are masked.
std::string asked_text(const Arguments& arguments);    // those that were given
std::string default_text(const Arguments& arguments);  // those left at their default

// The command line quoted for a shell, secrets masked.
std::string command_text(const Arguments& arguments);

}  // namespace shoal::app
