// shoal: the program people start. It links no LibTorch: it explains, checks, launches and watches;
// shoal-worker computes.
#include <signal.h>

#include <iostream>

#include "app/commands/local/local_commands.h"
#include "app/launch/machine.h"
#include "app/options/recipes.h"
#include "app/options/settings.h"
#include "app/platform/failure.h"
#include "app/platform/platform.h"
#include "app/version.h"

namespace {

using namespace shoal::app;

struct Row {
  Command command;
  int (*run)(const Call&);
};

constexpr Row kRun[] = {
    {Command::train, run_distributed}, {Command::eval, run_distributed},
    {Command::predict, run_worker},    {Command::pack, run_worker},
    {Command::prepare, run_worker},    {Command::bench, run_worker},
    {Command::models, run_worker},     {Command::metrics, run_metrics},
    {Command::doctor, run_doctor},
};

int print(const std::string& text) {
  std::cout << text << std::flush;
  return std::cout ? kOk : kFailure;
}

std::string overview() {
  std::string text = std::string("shoal ") + kVersion +
                     ": trains image classifiers (EfficientNet, ResNet)\n\n"
                     "Usage: shoal COMMAND [options]\n\n";
  for (const CommandRow& row : commands())
    text += "  " + row.name + std::string(10 - row.name.size(), ' ') + row.summary + "\n";
  return text +
         "\n`shoal COMMAND --help` shows the common options of one command, `--help all` all, "
         "`--help "
         "WORD`\nwhat mentions WORD. `shoal --version` prints the version.\n\n" +
         exit_code_help();
}

int run(const std::vector<std::string>& words, shoal::dist::Variables environment) {
  if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    const auto command = words.size() > 1 ? command_named(words[1]) : std::nullopt;
    return print(command ? command_help(*command, words.size() > 2 ? words[2] : kCommonHelp)
                         : overview());
  }
  if (words[0] == "--version")
    return print(std::string("shoal ") + kVersion + " (" + kCommit + ")\n");

  const Arguments arguments = gather(words, environment);
  if (!arguments.help.empty()) return print(command_help(arguments.command, arguments.help));
  if (arguments.recipe == "list") return print(recipe_list());
  environment = with_platform_hosts(environment, gpu_count(environment));
  for (const Row& row : kRun) {
    if (row.command == arguments.command) return row.run({arguments, words, environment});
  }
  return kUsage;  // gather() knows no other command
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not end a training run
  const auto environment = shoal::dist::environment();
  return guarded_main(reporting(environment), [&] {
    return run(command_words(argc, argv, on_platform(environment)), environment);
  });
}
