#pragma once
// Starting a worker process, and what it shares with the launcher. For launch.cpp.

#include <signal.h>
#include <sys/types.h>

#include "app/launch/launch.h"

namespace shoal::app {

// While the object exists, the signals that the launcher waits for are blocked. Not thread-safe.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;

  void restore_in_child() const;

  // Returns the next signal, or 0 after `seconds` without one.
  int wait(double seconds) const;

  // Stops this process, as Ctrl-Z does, until SIGCONT. Returns at once if no shell could continue
  // it, because the system then ignores the signal.
  void stop_here() const;

 private:
  sigset_t set_{}, before_{};
};

// A pipe with one byte. A user error occurs in all workers; only the worker that reads the byte
// reports it (platform/failure.h). Non-blocking, so that the others do not wait for a byte. The
// constructor throws std::runtime_error if there are too many open files.
class ReportToken {
 public:
  ReportToken();
  ~ReportToken();
  ReportToken(const ReportToken&) = delete;

  void add_to(dist::Variables& environment) const;
  void keep_in_child() const;

 private:
  int ends_[2];
};

// Starts one worker in a process group of its own and returns its process ID. The kernel kills it
// if this process ends. Throws std::runtime_error that names program and worker.
pid_t start_process(const Launch& plan, const WorkerStart& worker, const BlockedSignals& signals,
                    const ReportToken& token);

}  // namespace shoal::app
