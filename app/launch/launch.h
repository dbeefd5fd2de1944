#pragma once
// Starts the worker processes of this host, watches them, and stops all of them if one fails.

#include <filesystem>
#include <string>
#include <vector>

#include "app/launch/plan.h"

namespace shoal::app {

struct Launch {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  std::vector<WorkerStart> workers;
  std::string host;            // for messages
  std::string failure_file{};  // Reporting::failure_file (platform/failure.h); empty: none
  // Seconds to wait after the first observed failure before naming the worker that failed first,
  // because that worker may exit after its peers.
  double culprit_seconds = 0.3;
  // Replaces culprit_seconds while every failed worker exited with kPeerLost or SIGABRT (NCCL's
  // watchdog). They may only have lost a connection to a worker that has not exited yet.
  double lost_peer_seconds = 3;
  // Seconds from SIGTERM to SIGKILL for the workers still running.
  double grace_seconds = 7;
  // Seconds from the first stop signal to SIGKILL for the workers still running.
  double stop_seconds = 3600;
  // Whether a worker killed by a stop signal before it installed its handler counts as stopped
  // instead of failed. Set in a SageMaker container, where a stop is not a failure.
  bool early_stop_is_fine = false;
};

// Starts one process per worker and returns when all have exited. While they run:
//
// * Workers inherit stdout and stderr.
// * SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to every worker. Each worker has its
//   own process group, so a terminal's Ctrl-C reaches it only through this process. SIGTERM, SIGINT
//   and SIGHUP also continue suspended workers (SIGCONT). If workers do not end within stop_seconds
//   after the first of these three signals, one line names them and they get SIGKILL. SIGINT,
//   SIGHUP and SIGTSTP stay ignored if they were ignored at the start.
// * SIGTSTP (Ctrl-Z) suspends the workers and this process. SIGCONT (fg) continues all.
// * Workers may write to the terminal even after `stty tostop`, but must not read from it: the
//   kernel suspends background processes that do (SIGTTIN).
// * If a worker fails, the others get SIGTERM after culprit_seconds (or lost_peer_seconds), and
//   SIGKILL grace_seconds later. One line on stderr names the rank that failed first, its host and
//   the reason, except for a user error (kUsage), which a worker has reported. The failure file
//   gets the same text if a signal killed that rank or if no worker has written the file.
// * If a worker exits with 130 or 143 although this process received no stop signal, the others
//   get SIGTERM stop_seconds later.
// * Other child processes are reaped too, because this process inherits orphans if it is PID 1.
// * Workers that do not end within grace_seconds after SIGKILL (hanging storage) are left behind.
// * If this process is killed, the kernel kills the workers.
//
// Returns the exit code of the worker that failed first (128 + N if signal N killed it). Workers
// that end because of a stop have not failed. If none failed, returns the first code other than 0
// in the order of `workers`, else 0. A stopped worker's code is 130 or 143, or 137 if it needed
// SIGKILL. Throws std::runtime_error if a process cannot be started. Call from the main thread of a
// single-threaded process.
int launch(const Launch& plan);

// Replaces this process with the program (execve). Throws std::runtime_error if that fails.
[[noreturn]] void become(const std::filesystem::path& program,
                         const std::vector<std::string>& arguments,
                         const dist::Variables& environment);

}  // namespace shoal::app
