#pragma once
// Which of how many processes this one is, and where they meet: a value parsed once from variables,
// never looked up later.
//
// Every function here is pure (a map in, a value out) except environment(). A set of variables that
// is incomplete or contradicts itself throws std::invalid_argument with one sentence that names the
// variable: distribution that was asked for and cannot be set up is an error, never a silent run on
// one process. No torch: the launcher links this too.
//
// This header knows two sources: torchrun's variables, which shoal sets for its own workers too,
// and the hosts of a SageMaker job. All others (mpirun, srun, …) are in launcher.h.
//
//   RANK WORLD_SIZE LOCAL_RANK       torchrun's: any of these asks for a distributed run, and then
//   LOCAL_WORLD_SIZE                 all are needed
//   MASTER_ADDR MASTER_PORT          where rank 0's (or the agent's) store listens
//   TORCHELASTIC_USE_AGENT_STORE     True: the launcher's agent already runs the store
//   TORCHELASTIC_RESTART_COUNT       attempt number; keys of different attempts never mix
//   GLOO_SOCKET_IFNAME,              network interface
//     else NCCL_SOCKET_IFNAME
//   SHOAL_HOSTS                      our launcher's: Env::hosts, with commas
//   SM_HOSTS SM_CURRENT_HOST         SageMaker's: a JSON list, and one of it
//   SM_NUM_GPUS                      workers per host
//   SM_NETWORK_INTERFACE_NAME        a hint: the interface may not exist

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal::dist {

using Variables = std::map<std::string, std::string>;

struct Env {
  int rank = 0;              // 0 … world_size-1
  int local_rank = 0;        // 0 … local_world_size-1, on this host: the GPU to use
  int world_size = 1;        // processes in all
  int local_world_size = 1;  // processes on this host
  std::string master_addr;   // empty for a single process
  uint16_t master_port = 0;  // 0 for a single process
  std::string interface;     // or a comma-separated list; empty: chosen by route to the master
  bool agent_store = false;  // the launcher runs the store: every rank, also rank 0, is a client
  int attempt = 0;           // how often this group of processes was started before
  // Names of the hosts in the order of ranks, local_world_size ranks on each; empty: not known. For
  // messages.
  std::vector<std::string> hosts;
  // Who said so: "single", "torchrun", "sagemaker", or a launcher's name (launcher.h).
  std::string origin = "single";

  bool operator==(const Env&) const = default;
};

// The hosts of a SageMaker job, before workers are started on them.
struct Hosts {
  // Sorted as strings, as the platform does: algo-1, algo-10, algo-2.
  std::vector<std::string> hosts;
  std::string current_host;     // one of hosts
  int workers_per_host = 1;     // GPUs of a host; 1 where it has none
  std::string interface;        // may not exist (local mode): see network.h
  uint16_t master_port = 7777;  // the first host's

  bool operator==(const Hosts&) const = default;
};

Env single_process();

// Nothing when none of the four rank variables is there. A world of one needs no master.
std::optional<Env> from_torchrun(const Variables&);

// Nothing when neither SM_HOSTS nor SM_CURRENT_HOST is there. The port is MASTER_PORT, else
// SM_MASTER_PORT, else 7777.
std::optional<Hosts> from_sagemaker(const Variables&);

// The environment of worker `local_rank` on the current host; a job of one worker is a single
// process. The master is the first host, or loopback when it is the only one.
Env for_worker(const Hosts&, int local_rank);

// N workers on this host, of which this is `local_rank`; a count of 1 is a single process. For
// `--nproc`.
Env for_local_worker(int workers, int local_rank, uint16_t master_port);

// Worker `local_rank` of N in the place of `host`, which is one process per host: rank r becomes
// the ranks r·N … r·N+N-1.
Env for_worker_of(const Env& host, int workers, int local_rank);

// What a launcher sets for a worker: the torchrun variables. from_torchrun(to_variables(e)) is e
// with origin "torchrun". For a single process the four rank variables, which say so whatever other
// launchers' variables stand beside them.
Variables to_variables(const Env&);

// What a worker is: one of a launcher's processes (launcher.h), else of a SageMaker job when each
// host has exactly one worker, else a single process. A SageMaker job of several workers per host
// without a launcher is an error.
Env this_worker(const Variables&);

// A copy of the process's environment. Call before any thread changes it.
Variables environment();

}  // namespace shoal::dist
