#pragma once
// Blocks signals in worker threads. The main thread then receives them.

#include <pthread.h>
#include <signal.h>

namespace shoal {

// Blocks all signals except crash signals (SIGSEGV, SIGBUS, ...) in the calling thread, from
// construction to destruction. A thread that the calling thread starts during this time inherits
// the block for its whole life. Destroy the object in the thread that created it.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
      sigdelset(&all, crash);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace shoal
