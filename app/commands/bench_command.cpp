// shoal bench: checks the arguments and options, and runs the chosen measurement.
#include <algorithm>

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
  // Options of this measurement that at least one other measurement does not have.
  std::vector<std::string> own;
};

const std::vector<Measurement>& measurements() {
  static const std::vector<Measurement> all = {
      {"loader",
       2,
       bench_loader,
       {"mode", "seconds", "wanted", "cache", "cache-dir", "seek-index", "decoder", "order",
        "crop-scale-min", "interpolation", "train", "eval", "val-size"}},
      {"step",
       1,
       bench_step,
       {"train", "eval", "val-size", "model", "amp", "device", "kernels", "optimizer", "ema",
        "classes", "steps", "warmup", "trace"}},
      {"scaling",
       1,
       bench_scaling,
       {"model", "amp", "device", "kernels", "optimizer", "ema", "classes", "steps", "warmup",
        "hosts", "host-processes", "gradient-compression", "link-gbps", "local-gbps", "link-us",
        "step-ms"}}};
  return all;
}

[[noreturn]] void fail_usage(const std::string& about) {
  throw UserError("usage: `shoal bench loader DATA`, `shoal bench step` or `shoal bench scaling`" +
                  about);
}

// Returns the measurements that have this option as one of their own.
std::vector<std::string> owners(const std::string& option) {
  std::vector<std::string> names;
  for (const Measurement& measurement : measurements())
    if (std::ranges::count(measurement.own, option) > 0)
      names.push_back(std::string("`shoal bench ") + measurement.name + "`");
  return names;
}

// Throws UserError if the command line has an option that only other measurements have. Ignores
// such options from other origins: commands may share a settings file.
void check_options(const Arguments& arguments, const Measurement& chosen) {
  for (const auto& [option, origin] : arguments.origins) {
    const std::vector<std::string> names = owners(option);
    if (names.empty() || std::ranges::count(chosen.own, option) > 0 || origin != kCommandLine)
      continue;
    throw UserError("--" + option + " is an option of " + joined(names, " and ") +
                    ", not of `shoal bench " + chosen.name + "`; remove it");
  }
}

}  // namespace

int bench_command(const Arguments& given) {
  Arguments arguments = given;
  begin(arguments.job, dist::Env{});
  if (arguments.paths.empty()) fail_usage("");
  const auto chosen = std::ranges::find(measurements(), arguments.paths[0], &Measurement::name);
  if (chosen == measurements().end())
    fail_usage("; bench cannot measure '" + arguments.paths[0] + "'");
  if (arguments.paths.size() != chosen->paths) fail_usage("");
  if (arguments.bench.train && arguments.bench.eval)
    throw UserError("--train and --eval exclude each other; remove one");
  check_options(arguments, *chosen);
  count_classes(arguments.job);
  install_polled_signals();
  return chosen->run(arguments);
}

}  // namespace shoal::app
