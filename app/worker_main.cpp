// shoal-worker: one process that computes. `shoal` starts it, or torchrun and friends do.

#include <c10/util/Exception.h>
#include <signal.h>

#include <stdexcept>

#include "app/commands/commands.h"
#include "app/options/settings.h"
#include "app/platform/failure.h"
#include "base/log.h"

namespace {

struct Row {
  shoal::app::Command command;
  int (*run)(const shoal::app::Arguments&);
};

constexpr Row kCommands[] = {
    {shoal::app::Command::train, shoal::app::train_command},
    {shoal::app::Command::eval, shoal::app::eval_command},
    {shoal::app::Command::predict, shoal::app::predict_command},
    {shoal::app::Command::pack, shoal::app::pack_command},
    {shoal::app::Command::prepare, shoal::app::prepare_command},
    {shoal::app::Command::bench, shoal::app::bench_command},
    {shoal::app::Command::models, shoal::app::models_command},
    {shoal::app::Command::doctor, shoal::app::doctor_worker},
};

int run_command(const shoal::app::Arguments& arguments) {
  for (const Row& row : kCommands) {
    if (row.command == arguments.command) return row.run(arguments);
  }
  throw shoal::UserError("shoal-worker has no command '" +
                         shoal::app::command_name(arguments.command) + "'; start it through shoal");
}

// LibTorch's messages are about its internals: people get a sentence; with --log-level debug also the
// original, on every rank.
int run_guarded(const shoal::app::Arguments& arguments) {
  try {
    return run_command(arguments);
  } catch (const c10::Error& error) {
    if (arguments.job.log_level == "debug") shoal::log::error(error.what());
    throw std::runtime_error(shoal::app::torch_sentence(error.what_without_backtrace()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not end a training run
  const auto environment = shoal::dist::environment();
  return shoal::app::guarded_main(shoal::app::reporting(environment), [&] {
    const auto terminal = environment.find("TERM");
    if (terminal == environment.end() || terminal->second == "dumb") shoal::log::no_status();
    return run_guarded(
        shoal::app::gather(std::vector<std::string>(argv + 1, argv + argc), environment));
  });
}
