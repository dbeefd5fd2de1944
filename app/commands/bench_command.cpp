// shoal bench: checks the arguments and options, and runs the chosen measurement.
#include <algorithm>
#include <array>

#include "app/commands/bench/bench.h"
#include "app/commands/commands.h"
#include "app/commands/session.h"
#include "app/options/class_names.h"
#include "app/platform/signals.h"
#include "base/text.h"

namespace shoal::app {
namespace {

struct Measurement {
  const char* name;
  size_t paths;  // number of positional arguments, including the name
  int (*run)(const Arguments&);
};

constexpr std::array kMeasurements = {Measurement{"loader", 2, bench_loader},
                                      Measurement{"step", 1, bench_step},
                                      Measurement{"scaling", 1, bench_scaling}};

[[noreturn]] void fail_usage(const std::string& about) {
  throw UserError("usage: `shoal bench loader DATA`, `shoal bench step` or `shoal bench scaling`" +
                  about);
}

// Throws UserError if the command line has an option that only other measurements have. Ignores
// such options from other origins: commands may share a settings file.
void check_options(const Arguments& arguments, const std::string& chosen) {
  for (const auto& [name, origin] : arguments.origins) {
    const Option* const option = find_option(Command::bench, name);
    if (!option || option->measurements.empty() || origin != kCommandLine) continue;
    std::vector<std::string> owners = option->measurements;
    if (std::ranges::count(owners, chosen) > 0) continue;
    for (std::string& owner : owners) owner = "`shoal bench " + owner + "`";
    throw UserError("--" + name + " is an option of " + joined(owners, " and ") +
                    ", not of `shoal bench " + chosen + "`; remove it");
  }
}

}  // namespace

int bench_command(const Arguments& given) {
  Arguments arguments = given;
  begin(arguments.job, dist::Env{});
  if (arguments.paths.empty()) fail_usage("");
  const auto chosen = std::ranges::find_if(
      kMeasurements, [&](const Measurement& one) { return one.name == arguments.paths[0]; });
  if (chosen == kMeasurements.end())
    fail_usage("; bench cannot measure '" + arguments.paths[0] + "'");
  if (arguments.paths.size() != chosen->paths) fail_usage("");
  if (arguments.bench.train && arguments.bench.eval)
    throw UserError("--train and --eval exclude each other; remove one");
  check_options(arguments, chosen->name);
  count_classes(arguments.job);
  install_polled_signals();
  const int code = chosen->run(arguments);
  if (code != 0 && train::stop_signal() != 0) log::warning("stopped without results");
  return code;
}

}  // namespace shoal::app
