#pragma once
// Blocks signals in worker threads, so that the main thread handles them.

#include <pthread.h>
#include <signal.h>

namespace shoal {

// While an instance exists, the thread that created it blocks all signals except crash signals
// (SIGSEGV, SIGBUS, ...). Threads that it starts meanwhile block them for their whole life.
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
