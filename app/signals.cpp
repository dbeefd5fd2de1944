#include "app/signals.h"

#include <signal.h>
#include <unistd.h>

#include "train/stop.h"

namespace shoal::app {
namespace {

void on_stop(int number) {
  if (!train::request_stop(number)) _exit(128 + number);
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
}

}  // namespace shoal::app
