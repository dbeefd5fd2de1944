#pragma once
// Internals of launch.cpp: blocks signals, starts a worker process, and creates the pipe that the
// workers share.

#include <signal.h>
#include <sys/types.h>

#include "app/launch/launch.h"

namespace shoal::app {

// Blocks the signals that the launcher waits for. The destructor restores the signal mask. Not
// thread-safe.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;

  void restore_in_child() const;

  // Returns the next signal, or 0 after `seconds` without one.
  int wait(double seconds) const;

  // Stops this process until SIGCONT, as Ctrl-Z does. Returns at once if there is no shell that
  // could continue this process: the kernel then ignores SIGTSTP.
  void stop_here() const;

 private:
  sigset_t set_{}, before_{};
};

// A pipe that contains one byte and that all workers inherit. A user error occurs in every worker;
// only the worker that reads the byte reports the error (platform/failure.h). Reads do not block,
// so the other workers do not wait. The constructor throws std::runtime_error if the pipe cannot be
// created.
class ReportToken {
 public:
  ReportToken();
  ~ReportToken();
  ReportToken(const ReportToken&) = delete;

  void add_to(dist::Variables& environment) const;  // sets kReportVariable
  void keep_in_child() const;                       // keeps the pipe open across execve

 private:
  int ends_[2];
};

// Starts one worker in its own process group and returns its process ID. The kernel kills the
// worker if this process ends. Throws std::runtime_error that names the worker.
pid_t start_process(const Launch& plan, const WorkerStart& worker, const BlockedSignals& signals,
                    const ReportToken& token);

}  // namespace shoal::app
