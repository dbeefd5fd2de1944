#include "train/stop.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace shoal::train {
namespace {

std::atomic<int> stop{0};
std::atomic<bool> checkpoint{false};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler stores into it");

void on_stop(int number) {
  int none = 0;
  if (!stop.compare_exchange_strong(none, number)) _exit(128 + number);
}

void on_checkpoint(int) {
  checkpoint = true;
}

void install(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_stop_handlers() {
  install(SIGTERM, on_stop);
  install(SIGINT, on_stop);
  install(SIGUSR1, on_checkpoint);
}

int stop_signal() {
  return stop;
}
bool take_checkpoint_request() {
  return checkpoint.exchange(false);
}

}  // namespace shoal::train
