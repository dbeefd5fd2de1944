#pragma once
// Everything a command is asked for, from everybody who may ask: the command line, then
// hyperparameters (app/options/hyperparameters.h), then what the environment and the platform's files say
// about paths (app/platform/paths.h), then defaults. `shoal` and each `shoal-worker` gather by themselves
// and come to the same result. Torch-free.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

// The words of a program's call, the command first. A program called `train` (a link of that name,
// as `docker run IMAGE train` finds it on PATH) is `shoal train`, and a further word `train` says
// nothing new; in a training container so is a call without a command. `argv` is main's.
std::vector<std::string> command_words(int argc, const char* const* argv, bool platform);

// How many of a worker's words the user gave; the launcher appended the others.
inline constexpr const char* kWordsVariable = "SHOAL_COMMAND_WORDS";

// `words`: the command and what follows it. Throws UserError.
Arguments gather(const std::vector<std::string>& words, const dist::Variables& environment,
                 const Files& files = real_files());

// Options of the command with a value, under who gave them, wrapped: what a run prints once. Secrets
// in addresses are masked.
std::string asked_text(const Arguments& arguments);    // those that somebody gave
std::string default_text(const Arguments& arguments);  // all others

// The command line as a shell takes it, secrets masked.
std::string command_text(const Arguments& arguments);

// `text` with the password of an address, the query of a signed one, and access keys as ***.
std::string masked(const std::string& text);

}  // namespace shoal::app
