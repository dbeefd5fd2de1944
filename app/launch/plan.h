#pragma once
// Decides which processes a command needs on this host and what stands in their environment. Pure:
// tests pass strings.
//
// Who asked is looked for in this order: a launcher (dist/env/launcher.h: this process is one worker
// already, or stands for a host), SageMaker's SM_* (one worker per GPU, on each of the job's
// hosts), --nnodes (workers on this host of several, meeting at --master-addr), --nproc (workers on
// this host, over loopback), else a single process. Everything a worker learns about its rank goes
// through torchrun's variables.

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
  int processors = 1;                   // usable ones
  std::function<uint16_t()> free_port;  // asked only when workers meet on this host
  std::function<bool(const std::string&)> interface_exists;
  // False for a name or address that is another host's for certain.
  std::function<bool(const std::string&)> may_be_this_host = [](const std::string&) {
    return true;
  };
  bool bound = false;  // the processors are this process's own, not to be shared (machine.h)
  Fabric fabric = {};
};

// As this host is.
HostFacts host_facts(const dist::Variables& environment);

struct WorkerStart {
  std::string name;             // "rank 3", for messages
  dist::Variables environment;  // whole, not only what differs
};

struct Plan {
  std::vector<WorkerStart> workers;    // of this host; none: it has no part in the job
  std::string launched_by;             // for people
  std::vector<std::string> variables;  // that decided
  std::vector<std::string> notes;      // sentences to print before the start
  bool in_place = false;  // the one worker replaces this process: no launcher is needed
  std::vector<std::string> extra_arguments;  // to append to the worker's command line
  std::string host;                          // as the platform names it; empty: ask the system
};

// Throws UserError for contradictions (--nproc under torchrun, a bad N, a master that is
// another host than rank 0's) and
// std::invalid_argument for variables that are incomplete (dist/env/env.h).
Plan plan_workers(const Arguments& arguments, const dist::Variables& environment,
                  const HostFacts& facts);

// What must stand in a worker's environment before it starts, because libraries read it when they
// are loaded: OpenMP's thread count and spinning, NCCL's error handling, cuBLAS's workspace. Values
// the user has set stay.
dist::Variables tuned(dist::Variables environment, int threads);

}  // namespace shoal::app
