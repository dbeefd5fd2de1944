// shoal: the program that users start. It parses options, prints help, checks the machine, and
// starts and watches shoal-worker, which computes. It does not link LibTorch.
#include <algorithm>

#include "app/commands/local/local_commands.h"
#include "app/launch/machine.h"
#include "app/options/recipes.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "app/platform/platform.h"
#include "app/platform/signals.h"
#include "app/version.h"
#include "base/file/descriptor.h"
#include "base/log.h"
#include "base/secrets.h"

namespace {

using namespace shoal::app;

int print(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  shoal::log::line(text);
  return kOk;
}

std::string overview() {
  std::string text = std::string("shoal ") + kVersion +
                     ": trains image classifiers\n\n"
                     "Usage: shoal COMMAND [options]\n\n";
  size_t longest = 0;
  for (const CommandRow& row : commands()) longest = std::max(longest, row.name.size());
  for (const CommandRow& row : commands())
    text += "  " + row.name + std::string(longest + 2 - row.name.size(), ' ') + row.summary + "\n";
  return text +
         "\n`shoal COMMAND --help` lists a command's common options, `--help all` all options, "
         "`--help WORD`\nthe options that mention WORD. `shoal --version` prints the version.\n\n" +
         exit_code_help();
}

int run_command(const Call& call) {
  if (call.arguments.command != Command::train) release_signals();
  switch (call.arguments.command) {
#define COMMAND(name, constant, paths, run_in_shoal, ...) \
  case Command::name:                                     \
    return run_in_shoal(call);
#include "app/options/commands.def"
  }
  return kUsage;  // not reached: gather() rejects commands that are not in the table
}

int run(const std::vector<std::string>& words, shoal::dist::Variables environment) {
  if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    if (words.size() < 2) return print(overview());
    return print(
        command_help(require_command(words[1]), words.size() > 2 ? words[2] : kCommonHelp));
  }
  if (words[0] == "--version" || words[0] == "-V" || words[0] == "-v")
    return print(std::string("shoal ") + kVersion + " (" + kCommit + ")\n");

  const Arguments arguments = [&] {
    try {
      const EndedBySignals ended(words[0] == "train" && on_platform(environment));
      return gather(words, environment);
    } catch (...) {
      if (words[0] == "train" || words[0] == "eval" || words[0] == "predict")
        clear_earlier_failure(environment);
      throw;
    }
  }();
  if (!arguments.help.empty()) return print(command_help(arguments.command, arguments.help));
  if (arguments.recipe == "list") return print(recipe_list());
  if (arguments.command != Command::train)  // for `train`, the worker logs the notes
    for (const std::string& note : arguments.notes) shoal::log::warning(note);
  environment = with_platform_hosts(environment, gpu_count(environment));
  return run_command({arguments, words, environment});
}

}  // namespace

int main(int argc, char** argv) {
  shoal::open_standard_files();
  hold_signals();
  const auto environment = shoal::dist::environment();
  shoal::hide_secrets(environment);
  return guarded_main(reporting(environment), [&] {
    return run(command_words(argc, argv, on_platform(environment)), environment);
  });
}
