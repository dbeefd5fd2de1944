// shoal-worker: runs the commands that need LibTorch. Started by `shoal`, torchrun or mpirun.

#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "app/platform/platform.h"
#include "app/platform/signals.h"
#include "base/file/descriptor.h"
#include "base/log.h"
#include "base/secrets.h"

namespace shoal::app {

int not_in_worker(const Arguments& arguments) {
  throw UserError("shoal-worker has no command '" + command_name(arguments.command) +
                  "'; run `shoal " + command_name(arguments.command) + "`");
}

namespace {

int run_command(const Arguments& arguments) {
  if (arguments.command != Command::train) release_signals();
  switch (arguments.command) {
#define COMMAND(name, constant, paths, run_in_shoal, run_in_worker, ...) \
  case Command::name:                                                    \
    return run_in_worker(arguments);
#include "app/options/commands.def"
  }
  return kUsage;  // not reached: gather() rejects commands that are not in the table
}

// Replaces LibTorch's messages, which describe its internals, with a sentence for users.
// --log-level debug also prints the original message, on every rank.
int run_guarded(const Arguments& arguments) {
  try {
    return run_command(arguments);
  } catch (const c10::Error& error) {
    if (arguments.job.log_level == "debug") log::error(error.what());
    throw std::runtime_error(torch_sentence(error.what_without_backtrace()));
  }
}

}  // namespace
}  // namespace shoal::app

int main(int argc, char** argv) {
  using namespace shoal;
  open_standard_files();
  app::hold_signals();
  const auto environment = dist::environment();
  hide_secrets(environment);
  const int code = app::guarded_main(app::reporting(environment), [&] {
    const auto terminal = environment.find("TERM");
    if (terminal == environment.end() || terminal->second == "dumb") log::no_status();
    return app::run_guarded([&] {
      const std::vector<std::string> words(argv + 1, argv + argc);
      const bool trains = !words.empty() && words[0] == "train";
      const app::EndedBySignals ended(trains && app::on_platform(environment));
      return app::gather(words, environment);
    }());
  });
  std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  return code;  // the sanitizer looks for leaks after main()
#else
  ::_exit(code);  // skips static destructors: those of LibTorch take 0.1 s
#endif
}
