#include "train/control/stop.h"

#include <signal.h>

#include <atomic>

#include "base/output.h"

namespace shoal::train {
namespace {

std::atomic<int> stop{0};
std::atomic<bool> checkpoint{false};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler stores into it");

}  // namespace

bool request_stop(int signal) {
  limit_output_waits();
  int none = 0;
  return stop.compare_exchange_strong(none, signal);
}
void request_checkpoint() {
  checkpoint = true;
}

int stop_signal() {
  return stop;
}
const char* stop_name(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}
bool take_checkpoint_request() {
  return checkpoint.exchange(false);
}

}  // namespace shoal::train
