#pragma once
// Starts the workers of this host, watches them, and ends them together.

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
  std::string failure_file{};  // see failure.h
  // Seconds after a failure in which the rank that failed first may still report.
  double settle_seconds = 0.3;
  // The same when all that failed so far only lost their connection (kPeerLost).
  double lost_peer_seconds = 3;
  // From SIGTERM to SIGKILL for the workers that are left.
  double grace_seconds = 7;
  // A worker that a stop signal ended before it could catch it counts as stopped in order: on a
  // platform where a stop is no failure.
  bool early_stop_is_fine = false;
};

// Starts one process per worker and returns when all have ended. Meanwhile:
//
// * stdout and stderr of the workers are this process's own, untouched;
// * SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to every worker (each worker has a
//   process group of its own, so that a terminal's Ctrl-C reaches it once, from here);
// * when a worker fails, the others get SIGTERM and at last SIGKILL, all within settle (or
//   lost_peer) + grace seconds, and one line on stderr names the rank that failed first, the host
//   and why; the failure file too, if that rank wrote none;
// * children that are not workers are reaped (PID 1 inherits orphans);
// * should this process be killed, the kernel ends the workers.
//
// Returns the exit code: 0; that of the worker that failed first (128 + N when signal N ended it);
// 130 or 143 when the workers stopped because of a signal. Throws std::runtime_error when a process
// cannot be started. Call from the main thread of a process without other threads.
int launch(const Launch& plan);

// Replaces this process by the program. Returns only by throwing std::runtime_error.
[[noreturn]] void become(const std::filesystem::path& program,
                         const std::vector<std::string>& arguments,
                         const dist::Variables& environment);

}  // namespace shoal::app
