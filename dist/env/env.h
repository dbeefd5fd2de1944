#pragma once
// Env: the rank of this process, the world size and the address of rank 0. It is parsed once from
// environment variables and then passed along.
//
// All functions are pure (map in, value out) except environment(). If a set of variables is
// incomplete or contradictory, they throw std::invalid_argument with one sentence that names the
// variable. A distributed run that cannot be set up is an error; it never falls back to one
// process. Does not use LibTorch, because the launcher links this code too.
//
// This header handles two sources: torchrun's variables, which shoal also sets for its own workers,
// and the hosts of a SageMaker job. launcher.h handles all others (mpirun, srun, ...).
//
//   RANK WORLD_SIZE LOCAL_RANK       set by torchrun: all four are required (launcher.h describes
//   LOCAL_WORLD_SIZE                 launchers that set only some of them)
//   MASTER_ADDR MASTER_PORT          address of rank 0's (or the agent's) store
//   TORCHELASTIC_USE_AGENT_STORE     True: the launcher's agent already runs the store
//   TORCHELASTIC_RESTART_COUNT       attempt number; attempts never share store keys
//   GLOO_SOCKET_IFNAME,              network interface
//     else NCCL_SOCKET_IFNAME
//   SHOAL_HOSTS                      set by shoal's launcher: Env::hosts, comma-separated
//   SM_HOSTS SM_CURRENT_HOST         set by SageMaker: a JSON list, and one of its elements
//   SM_NUM_GPUS                      workers per host
//   SM_NETWORK_INTERFACE_NAME        network interface; ignored if it does not exist

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal::dist {

using Variables = std::map<std::string, std::string>;

// Default port of rank 0's store, in SageMaker jobs and with launchers that provide no job ID.
inline constexpr uint16_t kDefaultPort = 7777;

struct Env {
  int rank = 0;              // 0 to world_size-1
  int local_rank = 0;        // 0 to local_world_size-1 on this host; the GPU to use
  int world_size = 1;        // number of processes on all hosts
  int local_world_size = 1;  // number of processes on this host
  std::string master_addr;   // empty for a single process
  uint16_t master_port = 0;  // 0 for a single process
  // Network interface, or a comma-separated list. Empty: chosen by the route to the master.
  std::string interface;
  bool agent_store = false;  // the launcher runs the store: every rank is a client
  int attempt = 0;           // how often the launcher has restarted the processes
  // 1 for the first shoal command that joins the launcher's store, 2 for the next one, and so on.
  // Set by rendezvous() if agent_store is set.
  int64_t command = 1;
  // Names of the hosts in rank order, with local_world_size ranks on each. Empty if unknown. Used
  // only in messages.
  std::vector<std::string> hosts;
  // Source of the values: "single", "torchrun", "sagemaker", or a launcher's name (launcher.h).
  std::string origin = "single";

  bool operator==(const Env&) const = default;
};

// The hosts of a SageMaker job, before workers are started on them.
struct Hosts {
  // Sorted as strings, as SageMaker does: algo-1, algo-10, algo-2.
  std::vector<std::string> hosts;
  std::string current_host;             // one of hosts
  int workers_per_host = 1;             // GPUs per host; 1 if there are none
  std::string interface;                // network interface; ignored if it does not exist
  uint16_t master_port = kDefaultPort;  // port on the first host

  bool operator==(const Hosts&) const = default;
};

Env single_process();

// Returns nullopt if neither SM_HOSTS nor SM_CURRENT_HOST is set. The port is MASTER_PORT, else
// SM_MASTER_PORT, else 7777.
std::optional<Hosts> from_sagemaker(const Variables&);

// Returns the Env of worker `local_rank` on the current host. If the job has only one worker,
// returns single_process(). The master is the first host, or loopback if it is the only host.
Env for_worker(const Hosts&, int local_rank);

// For `--nproc`: returns the Env of worker `local_rank` of a run with `workers` workers, all on
// this host. With one worker, returns single_process().
Env for_local_worker(int workers, int local_rank, uint16_t master_port);

// For a launcher that starts one process per host, which then starts N = `workers` workers. Returns
// the Env of worker `local_rank` on this host. `host` is the Env of the host's process. If its rank
// is r, its workers have ranks r * N to r * N + N - 1.
Env for_worker_of(const Env& host, int workers, int local_rank);

// Returns the torchrun variables to set for a worker. find_launcher() reads the same Env from them,
// except for the origin, which becomes "torchrun" ("single" if the world size is 1). A single
// process needs no master, but gets the four rank variables: they make find_launcher() ignore the
// variables of other launchers.
Variables to_variables(const Env&);

// Returns the Env of this worker: from a launcher's variables (launcher.h); otherwise from
// SageMaker's variables, with one worker per host; otherwise for a single process. Throws
// std::invalid_argument if no launcher is found but SageMaker's variables require several workers
// per host.
Env this_worker(const Variables&);

// Returns "2 (algo-2)", or "2" if the host is not known.
std::string rank_with_host(int rank, const Env& env);

// Returns the value of a variable; empty if it is not set.
std::string value_of(const Variables&, const std::string& name);

// Returns the value of a variable; null if it is absent or empty.
const std::string* find(const Variables& variables, const std::string& name);

// Returns a copy of the process environment. Call before any thread changes it.
Variables environment();

}  // namespace shoal::dist
