#include "app/platform/signals.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/capture.h"
#include "train/control/stop.h"

using namespace shoal;

namespace {

struct Handlers {
  std::string name;
  void (*install)();
  bool polls;  // whether the process continues after the signal, with train::stop_signal() set
};

const std::vector<Handlers>& all_handlers() {
  static const std::vector<Handlers> all = {
      {"training", [] { app::install_training_signals(/*on_platform=*/false); }, false},
      {"polled", app::install_polled_signals, true},
      {"resumable", app::install_resumable_signals, false},
      {"interruption", app::install_interruption_signals, false},
      {"settings", [] { static const app::EndedBySignals ended(/*trains_on_platform=*/false); },
       false}};
  return all;
}

// Starts a process that installs the handlers and sends itself the signal. Returns how the process
// ends. If the signal does not end it, its exit code is 100 + train::stop_signal().
test::Captured ended_by(const Handlers& row, int signal, bool ignored) {
  return test::capture([&] {
    if (ignored) ::signal(signal, SIG_IGN);
    row.install();
    ::raise(signal);
    return 100 + train::stop_signal();
  });
}

}  // namespace

TEST_CASE("handlers leave SIGINT and SIGHUP ignored if they were ignored at the start") {
  for (const Handlers& row : all_handlers())
    for (const int signal : {SIGINT, SIGHUP}) {
      INFO(row.name << ", signal " << signal);
      const test::Captured ignored = ended_by(row, signal, true);
      CHECK(ignored.code == 100);
      CHECK(ignored.err.empty());
      const int counts_as = signal == SIGHUP ? SIGTERM : signal;
      const test::Captured handled = ended_by(row, signal, false);
      CHECK(handled.code == (row.polls ? 100 : 128) + counts_as);
      CHECK(handled.err.empty() == row.polls);
    }
}
