#pragma once
// Plans the worker processes of a command on this host and their environment variables.
// plan_workers() does no I/O except through HostFacts.
//
// The first row that applies decides:
//   a launcher (dist/env/launcher.h)   this process becomes a worker or, with --nproc or
//                                      Launched::workers, starts the workers of its host
//   SageMaker's variables SM_*         one worker per GPU, or --nproc workers, on each host
//   --nnodes                           this host's workers of a job on several hosts, which connect
//                                      to --master-addr
//   --nproc                            workers on this host only, which connect over loopback
//   none of these                      a single process
// Workers get their rank only through the variables that torchrun uses (RANK, WORLD_SIZE, …).

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
  // Returns false only if the name or address certainly belongs to another host.
  std::function<bool(const std::string&)> may_be_this_host = [](const std::string&) {
    return true;
  };
  bool bound = false;  // bound_by_parent(): no other worker shares this worker's processors
  Fabric fabric = {};
};

// Returns the facts of this host.
HostFacts host_facts(const dist::Variables& environment);

struct WorkerStart {
  std::string name;             // "rank 3", for messages
  dist::Variables environment;  // all variables, not only the changed ones
};

struct Plan {
  std::vector<WorkerStart> workers;          // on this host; none: the job does not use this host
  std::string launched_by;                   // text for `shoal doctor --launcher`
  std::vector<std::string> variables;        // names of the variables that decided the plan
  std::vector<std::string> notes;            // warnings to print before the start
  bool in_place = false;                     // this process may become the only worker (execve)
  std::vector<std::string> extra_arguments;  // appended to the workers' command line
  std::string host;  // SageMaker's name of this host; empty: use host_name()
};

// Returns the number of processes that --nproc requests on this host; 1 if it is not given. Throws
// UserError if it is invalid.
int requested_processes(const Arguments& arguments, const HostFacts& facts);

// Plans this host's workers. Throws UserError for an invalid --nproc and for contradictions
// (--nproc under torchrun, a master address that is not rank 0's host), std::invalid_argument for
// incomplete variables (dist/env/env.h).
Plan plan_workers(const Arguments& arguments, const dist::Variables& environment,
                  const HostFacts& facts);

// Returns OMP_NUM_THREADS if the user set it, else 0. Ignores torchrun's value of 1 for several
// workers, which would leave processors idle. Throws UserError if it exceeds kMaxThreads.
int threads_from_environment(const dist::Variables& environment, int local_world_size);

// Adds variables that must be set before a worker starts, because libraries read them while they
// are loaded. Always sets OMP_NUM_THREADS to `threads`. Sets the others, such as those of NCCL and
// cuBLAS, only if the user has not set them.
dist::Variables tuned(dist::Variables environment, int threads);

}  // namespace shoal::app
