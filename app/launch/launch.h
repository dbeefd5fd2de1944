#pragma once
// Starts the workers of this host, watches them, and stops them together.

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
  std::string failure_file{};  // what SageMaker shows (platform/failure.h); empty: none
  // Seconds from the first failure seen until the culprit is named: it may exit after its peers.
  double culprit_seconds = 0.3;
  // Used instead while all failed workers only lost a connection (kPeerLost).
  double lost_peer_seconds = 3;
  // Seconds from SIGTERM to SIGKILL for the workers still running.
  double grace_seconds = 7;
  // Whether a worker killed by a stop signal before it installed its handler counts as stopped, not
  // failed. Set on a platform, where a stop is no failure.
  bool early_stop_is_fine = false;
};

// Starts one process per worker and returns when all have exited. Meanwhile:
//
// * Workers inherit stdout and stderr.
// * SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to every worker. Each worker has its
//   own process group, so a terminal's Ctrl-C reaches it only through this process.
// * When a worker fails, the others get SIGTERM and then SIGKILL, within culprit_seconds (or
//   lost_peer_seconds) + grace_seconds. One line on stderr names the rank that failed first, its
//   host and the reason. The failure file gets the same text unless that rank wrote one.
// * Children that are not workers are reaped, because PID 1 inherits orphans.
// * If this process is killed, the kernel kills the workers.
//
// Returns the exit code: 0; the code of the worker that failed first (128 + N if signal N killed
// it); 130 or 143 if the workers stopped because of a signal. Throws std::runtime_error if a process
// cannot be started. Call from the main thread of a single-threaded process.
int launch(const Launch& plan);

// Replaces this process by the program (execve). Throws std::runtime_error if that fails.
[[noreturn]] void become(const std::filesystem::path& program,
                         const std::vector<std::string>& arguments,
                         const dist::Variables& environment);

}  // namespace shoal::app
