#pragma once
// Plans the worker processes of a command on this host and their environment. Pure, so tests pass
// strings.
//
// The first that applies decides:
//   a launcher (dist/env/launcher.h)   this process is a worker, or with --nproc stands for its host
//   SageMaker's SM_*                   one worker per GPU on each host of the job
//   --nnodes                           workers on this host of several, which meet at --master-addr
//   --nproc                            workers on this host, over loopback
//   none of these                      a single process
// Workers learn their rank from torchrun's variables only.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/launch/fabric.h"
#include "app/options/options.h"
#include "dist/env/env.h"

namespace shoal::app {

struct HostFacts {
  int gpus = 0;
  int processors = 1;                   // usable by this process
  std::function<uint16_t()> free_port;  // called only if rank 0 is on this host
  std::function<bool(const std::string&)> interface_exists;
  // False only if the name or address certainly belongs to another host.
  std::function<bool(const std::string&)> may_be_this_host = [](const std::string&) {
    return true;
  };
  bool bound = false;  // bound_by_parent(): the processors are not shared with other workers
  Fabric fabric = {};
};

// The facts of this host.
HostFacts host_facts(const dist::Variables& environment);

struct WorkerStart {
  std::string name;             // "rank 3", for messages
  dist::Variables environment;  // complete, not only the changes
};

struct Plan {
  std::vector<WorkerStart> workers;    // of this host; none: the host takes no part in the job
  std::string launched_by;             // for `shoal doctor --launcher`
  std::vector<std::string> variables;  // names of the variables that decided
  std::vector<std::string> notes;      // warnings to print before the start
  bool in_place = false;               // the only worker replaces this process, without a launcher
  std::vector<std::string> extra_arguments;  // appended to the workers' command line
  std::string host;                          // name given by the platform; empty: ask the system
};

// Throws UserError for contradictions (--nproc under torchrun, a bad N, a master address that is not
// rank 0's host) and std::invalid_argument for incomplete variables (dist/env/env.h).
Plan plan_workers(const Arguments& arguments, const dist::Variables& environment,
                  const HostFacts& facts);

// Adds the variables that libraries read when they are loaded, so they must be set before a worker
// starts: OpenMP's thread count (replaces the user's) and spinning, NCCL's error handling, cuBLAS's
// workspace (these keep the user's values).
dist::Variables tuned(dist::Variables environment, int threads);

}  // namespace shoal::app
