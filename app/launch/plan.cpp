#include "app/launch/plan.h"

#include <algorithm>
#include <charconv>

#include "base/format/counted.h"
#include "base/text.h"
#include "dist/env/instance_groups.h"
#include "dist/env/launcher.h"

namespace shoal::app {
namespace {

using dist::find;
using dist::Variables;

// At most this many workers per processor, but kFewWorkers are always allowed. Larger numbers are
// probably typos and would stall the machine.
constexpr int kMaxPerProcessor = 4, kFewWorkers = 8;

// Returns the number of workers that `text` requests; 0 if it is empty. `text`: the value of
// --nproc or PET_NPROC_PER_NODE.
int requested_workers(const Arguments& arguments, const std::string& text, const HostFacts& facts) {
  if (text.empty()) return 0;
  if (text == "auto") return arguments.job.device == "cpu" ? 1 : std::max(1, facts.gpus);
  const auto count = parse_number<int>(text);
  const int most = std::max({kFewWorkers, kMaxPerProcessor * facts.processors, facts.gpus});
  if (!count || *count < 1 || *count > most) {
    throw UserError((arguments.nproc.empty() ? "PET_NPROC_PER_NODE is '" : "--nproc is '") + text +
                    "'; it must be auto or a number from 1 to " + std::to_string(most) +
                    " on this host with " + counted(facts.processors, "processor"));
  }
  return *count;
}

}  // namespace

int threads_from_environment(const Variables& environment, int local_world_size) {
  const std::string* text = find(environment, "OMP_NUM_THREADS");
  if (!text) return 0;
  int count = 0;
  std::from_chars(text->data(), text->data() + text->size(),
                  count);  // reads 4 from a list such as "4,2" (one number per nesting level)
  const bool torchruns_own =
      count == 1 && local_world_size > 1 && find(environment, "TORCHELASTIC_RUN_ID");
  if (count > kMaxThreads)
    throw UserError("OMP_NUM_THREADS is " + *text + "; it must be at most " +
                    std::to_string(kMaxThreads) + ", or use --threads N");
  return torchruns_own ? 0 : std::max(count, 0);
}

namespace {

Variables with(Variables environment, const Variables& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

void add_worker(Plan& plan, const Variables& environment, const dist::Env& env) {
  Variables variables = with(environment, dist::to_variables(env));
  // NCCL uses loopback only if NCCL_SOCKET_IFNAME names it.
  if (env.local_world_size == env.world_size && env.interface.empty())
    variables.emplace("NCCL_SOCKET_IFNAME", "lo");
  plan.workers.push_back({"rank " + std::to_string(env.rank), std::move(variables)});
}

// Removes hosts outside the SageMaker instance groups that the job requests (see
// Arguments::instance_group). If this host is removed, adds a note and returns false.
bool take_part(Plan& plan, dist::Hosts& hosts, const Arguments& arguments,
               const Variables& environment) {
  std::string names = arguments.instance_group;
  std::erase(names, ' ');
  auto groups = split(names, ',');
  if (groups.empty()) groups = dist::requested_groups(environment);
  if (dist::keep_groups(hosts, dist::instance_groups(environment), groups)) return true;
  plan.notes.push_back("this host, " + hosts.current_host +
                       ", is not used by this job, which runs on " + joined(groups) +
                       " only (--instance-group)");
  return false;
}

// Adds a note if --nnodes is ignored because `decides` (a launcher or SageMaker) sets the number of
// hosts.
void note_unused_nodes(Plan& plan, int64_t requested, const std::string& decides, int64_t hosts) {
  if (requested <= 1 || requested == hosts) return;
  plan.notes.push_back("--nnodes " + std::to_string(requested) + " has no effect: " + decides +
                       " distributes this job over " + counted(hosts, "host"));
}

// Adds a note if SM_HOSTS, which takes precedence, differs from SM_RESOURCE_CONFIG.
void note_other_hosts(Plan& plan, const dist::Hosts& hosts, const Variables& environment) {
  const auto listed = dist::listed_hosts(environment);
  if (listed.empty() || listed == hosts.hosts) return;
  plan.notes.push_back("SM_HOSTS names " + joined(hosts.hosts) +
                       ", but resourceconfig.json names " + joined(listed) + "; using SM_HOSTS");
}

// Plans `requested` workers (--nproc) on this host. If that is 0, plans one worker for
// --device cpu, otherwise one per GPU. With several hosts, this process stays the parent even of a
// single worker, to report the worker's death.
void plan_sagemaker(Plan& plan, dist::Hosts hosts, int requested, const Arguments& arguments,
                    const Variables& environment, const HostFacts& facts) {
  plan.launched_by = "SageMaker, " + counted(hosts.hosts.size(), "host");
  plan.variables = {"SM_HOSTS", "SM_CURRENT_HOST"};
  plan.host = hosts.current_host;
  note_other_hosts(plan, hosts, environment);
  if (!take_part(plan, hosts, arguments, environment)) return;
  if (hosts.current_host == hosts.hosts.front())
    note_unused_nodes(plan, arguments.nodes.count, "SageMaker",
                      static_cast<int64_t>(hosts.hosts.size()));
  if (requested > 0) {
    hosts.workers_per_host = requested;
  } else if (arguments.job.device == "cpu") {
    hosts.workers_per_host = 1;
  } else {
    plan.variables.push_back("SM_NUM_GPUS");
  }
  // SageMaker's local mode may name an interface that does not exist. Without a name, workers use
  // the interface of the route to the first host.
  if (!hosts.interface.empty() && !facts.interface_exists(hosts.interface)) hosts.interface.clear();
  if (!hosts.interface.empty() && hosts.hosts.size() > 1)
    plan.variables.push_back("SM_NETWORK_INTERFACE_NAME");
  Variables base = environment;
  if (hosts.hosts.size() > 1) {  // with one host, workers use loopback
    for (const char* name : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}) {
      if (!hosts.interface.empty() && !find(base, name)) base[name] = hosts.interface;
    }
    if (!find(base, "NCCL_HOSTID"))
      base["NCCL_HOSTID"] = hosts.current_host;  // containers often have the same host name
  }
  for (int i = 0; i < hosts.workers_per_host; ++i) {
    dist::Env env = dist::for_worker(hosts, i);
    if (const std::string* given = find(environment, "GLOO_SOCKET_IFNAME")) env.interface = *given;
    add_worker(plan, base, env);
  }
  plan.in_place = hosts.workers_per_host == 1 && hosts.hosts.size() == 1;
}

// Throws UserError on rank 0 if the master address was derived from a launcher's variable and
// belongs to another host. Accepts any MASTER_ADDR from the user: it may be that of a gateway.
void check_master(const dist::Launched& launched, const HostFacts& facts) {
  const dist::Env& env = launched.env;
  if (launched.master_variable.empty() || env.rank != 0 || facts.may_be_this_host(env.master_addr))
    return;
  throw UserError("rank 0 is not on " + env.master_addr + ", the master address derived from " +
                  launched.master_variable +
                  "; set MASTER_ADDR to rank 0's host for all processes (mpirun -x "
                  "MASTER_ADDR=HOST)");
}

// Plans for a process that a launcher started: it becomes the worker, or with --nproc starts the
// workers of its host.
void plan_launched(Plan& plan, const dist::Launched& launched, int requested,
                   const Arguments& arguments, const Variables& environment,
                   const HostFacts& facts) {
  const dist::Env& env = launched.env;
  plan.launched_by = launched.launcher;
  plan.variables = launched.variables;
  const bool is_torchrun = launched.launcher == "torchrun";
  if (requested > 0 && (is_torchrun || (requested > 1 && env.local_world_size > 1))) {
    throw UserError("--nproc is " + arguments.nproc + ", but " + launched.launcher +
                    " already started this process as one of " +
                    std::to_string(env.local_world_size) + " on this host (" +
                    launched.variables.front() +
                    "); remove --nproc, or start one process per host");
  }
  check_master(launched, facts);
  const auto note = [&](const std::string& text) {
    if (env.rank == 0) plan.notes.push_back(text);
  };
  if (const std::string text = dist::contradiction(launched, environment); !text.empty())
    note(text);
  const int workers = std::max(
      1, requested > 0 ? requested : requested_workers(arguments, launched.workers, facts));
  if (workers == 1) {
    if (env.local_world_size == 1 && facts.gpus > 1 && !is_torchrun &&
        arguments.job.device != "cpu")
      note("each process uses one of the host's " + std::to_string(facts.gpus) +
           " GPUs; use --nproc auto for all of them");
    if (is_torchrun) {
      plan.workers.push_back({"rank " + std::to_string(env.rank), environment});
    } else {
      add_worker(plan, environment, env);
    }
    plan.in_place = true;
    return;
  }
  note(launched.launcher + ": each process runs on its own host and starts " +
       std::to_string(workers) + " workers");
  const uint16_t port = env.world_size == 1 ? facts.free_port() : uint16_t{0};
  for (int i = 0; i < workers; ++i)
    add_worker(plan, environment,
               env.world_size == 1 ? dist::for_local_worker(workers, i, port)
                                   : dist::for_worker_of(env, workers, i));
}

void plan_local(Plan& plan, int workers, const Variables& environment, const HostFacts& facts) {
  plan.launched_by = workers > 1 ? "--nproc" : "no launcher: one process; --nproc N starts more";
  if (workers == 1) {
    plan.workers.push_back({"the worker", environment});
    plan.in_place = true;
    return;
  }
  const uint16_t port = facts.free_port();
  for (int i = 0; i < workers; ++i)
    add_worker(plan, environment, dist::for_local_worker(workers, i, port));
}

// Returns the number of workers on this host. --batch-per-host implies one process per GPU, as in
// PyTorch's imagenet example.
int local_workers(const Arguments& arguments, int requested, const HostFacts& facts) {
  return std::max(1, requested == 0 && arguments.job.batch_per_host ? facts.gpus : requested);
}

// Returns the port of host 0 in a job of several hosts. Throws UserError if it is missing or
// invalid.
uint16_t given_port(const Nodes& nodes, const Variables& environment) {
  const std::string text = nodes.master_port == 0 ? dist::value_of(environment, "MASTER_PORT")
                                                  : std::to_string(nodes.master_port);
  const uint16_t port = parse_number<uint16_t>(text).value_or(0);
  if (text.empty())
    throw UserError("--nnodes is " + std::to_string(nodes.count) +
                    ", but the port on host 0 is missing; give --master-port PORT, the same on "
                    "all hosts, or set MASTER_PORT");
  if (port == 0)
    throw UserError("MASTER_PORT is '" + text + "', but must be a number from 1 to 65535");
  return port;
}

// Plans the workers of this host for a job of several hosts (--nnodes).
void plan_nodes(Plan& plan, int local, const Nodes& nodes, const Variables& environment) {
  const std::string address =
      nodes.master_addr.empty() ? dist::value_of(environment, "MASTER_ADDR") : nodes.master_addr;
  if (address.empty()) {
    throw UserError("--nnodes is " + std::to_string(nodes.count) +
                    ", but the address of host 0 is missing; give --master-addr HOST and "
                    "--master-port PORT, or set MASTER_ADDR and MASTER_PORT");
  }
  const uint16_t port = given_port(nodes, environment);
  if (nodes.rank < 0 || nodes.rank >= nodes.count) {
    throw UserError("--node-rank is " + std::to_string(nodes.rank) + " of --nnodes " +
                    std::to_string(nodes.count) + "; it must be from 0 to nnodes - 1");
  }
  plan.launched_by = "--nnodes";
  const int first = static_cast<int>(nodes.rank) * local;
  for (int i = 0; i < local; ++i) {
    dist::Env env;
    env.rank = first + i;
    env.local_rank = i;
    env.world_size = static_cast<int>(nodes.count) * local;
    env.local_world_size = local;
    env.master_addr = address;
    env.master_port = port;
    add_worker(plan, environment, env);
  }
}

}  // namespace

dist::Variables tuned(dist::Variables environment, int threads) {
  environment["OMP_NUM_THREADS"] = std::to_string(std::max(threads, 1));
  // Lets idle OpenMP threads spin only briefly before they sleep, because loader threads and other
  // ranks need the processors.
  if (!find(environment, "OMP_WAIT_POLICY")) environment.emplace("GOMP_SPINCOUNT", "1000");
  environment.emplace("CUBLAS_WORKSPACE_CONFIG", ":4096:8");  // makes matrix products deterministic
  environment.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING",
                      "3");  // a lost peer aborts the process instead of hanging it
  // PyTorch's NCCL watchdog waits four times this long before it ends the process. By then, rank 0
  // has noticed the lost peer and saved a checkpoint.
  environment.emplace("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "60000");
  // Keeps a failed attempt from leaving a mark in torchrun's store that would end the next attempt.
  environment.emplace("TORCH_NCCL_DUMP_ON_TIMEOUT", "0");
  // Starts NCCL's kernels in the order of the calls. Gradients and synchronized batch norm use
  // separate communicators, and different orders on two GPUs would deadlock.
  environment.emplace("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
  environment.emplace("NCCL_ALGO", "^NVLS,NVLSTree");  // NVLS sums vary from run to run
  environment.emplace("KINETO_LOG_LEVEL", "6");  // the profiler warns about missing GPUs otherwise
  environment.emplace("GLOO_LOG_LEVEL", "ERROR");  // Gloo logs a line per connection otherwise
  return environment;
}

int requested_processes(const Arguments& arguments, const HostFacts& facts) {
  return std::max(1, requested_workers(arguments, arguments.nproc, facts));
}

Plan plan_workers(const Arguments& arguments, const Variables& environment,
                  const HostFacts& facts) {
  Plan plan;
  const int requested = requested_workers(arguments, arguments.nproc, facts);
  int on_this_host = 0;
  if (const auto launched = dist::find_launcher(environment)) {
    plan_launched(plan, *launched, requested, arguments, environment, facts);
    on_this_host = launched->env.local_world_size;
    if (launched->env.rank == 0 && !arguments.instance_group.empty())
      plan.notes.push_back("--instance-group " + arguments.instance_group +
                           " has no effect: " + launched->launcher + " has chosen the hosts");
    if (launched->env.rank == 0)
      note_unused_nodes(plan, arguments.nodes.count, launched->launcher,
                        launched->env.world_size / launched->env.local_world_size);
  } else if (const auto hosts = dist::from_sagemaker(environment)) {
    plan_sagemaker(plan, *hosts, requested, arguments, environment, facts);
  } else if (!arguments.instance_group.empty()) {
    throw UserError(
        "--instance-group is " + arguments.instance_group +
        ", but this is not a SageMaker job: SM_HOSTS and resourceconfig.json are both missing");
  } else if (arguments.nodes.count > 1) {
    plan_nodes(plan, local_workers(arguments, requested, facts), arguments.nodes, environment);
  } else {
    plan_local(plan, local_workers(arguments, requested, facts), environment, facts);
  }
  on_this_host = std::max({1, on_this_host, static_cast<int>(plan.workers.size())});

  const int given = arguments.job.threads ? 0 : threads_from_environment(environment, on_this_host);
  const int share =
      std::max(1, facts.processors / (facts.bound && plan.in_place ? 1 : on_this_host));
  const int threads = arguments.job.threads.value_or(given > 0 ? given : share);
  if (given > 0) plan.extra_arguments = {"--threads=" + std::to_string(given)};
  for (WorkerStart& worker : plan.workers)
    worker.environment = with_fabric(tuned(std::move(worker.environment), threads), facts.fabric);
  return plan;
}

}  // namespace shoal::app
