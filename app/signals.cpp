#include "app/signals.h"

#include <signal.h>
#include <unistd.h>

#include "train/stop.h"

namespace shoal::app {
namespace {

void on_stop(int number) {
  if (train::request_stop(number)) return;
  constexpr char kText[] = "shoal: stopped at once by a second signal, without saving\n";
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(128 + number);
  _exit(128 + number);
}

// The terminal is gone: as SIGTERM.
void on_hangup(int) {
  train::request_stop(SIGTERM);
}

void on_checkpoint(int) {
  train::request_checkpoint();
}

void install(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_training_signals() {
  install(SIGTERM, on_stop);
  install(SIGINT, on_stop);
  install(SIGUSR1, on_checkpoint);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) install(SIGHUP, on_hangup);  // nohup keeps it ignored
}

}  // namespace shoal::app
