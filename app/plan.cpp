#include "app/plan.h"

#include <algorithm>
#include <charconv>

namespace shoal::app {
namespace {

using dist::Variables;
using train::UserError;

// Workers per host; more than so many per processor is a typing error that would stall the machine.
constexpr int kMostPerProcessor = 4, kFewWorkers = 8;
constexpr int64_t kMostHosts = 4096;

const std::string* find(const Variables& variables, const char* name) {
  const auto entry = variables.find(name);
  return entry == variables.end() || entry->second.empty() ? nullptr : &entry->second;
}

// The meaning of --nproc; 0 when it was not given.
int workers_asked(const Arguments& arguments, const HostFacts& facts) {
  const std::string& text = arguments.nproc;
  if (text.empty()) return 0;
  if (text == "auto") return arguments.job.device == "cpu" ? 1 : std::max(1, facts.gpus);
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const int most = std::max({kFewWorkers, kMostPerProcessor * facts.processors, facts.gpus});
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > most) {
    throw UserError("--nproc is '" + text + "'; it must be auto or a number from 1 to " +
                    std::to_string(most) + " on this host's " + std::to_string(facts.processors) +
                    " processors");
  }
  return count;
}

// OMP_NUM_THREADS if the user wrote it. torchrun sets it to 1 for several workers, which would
// leave processors idle.
int threads_from_environment(const Variables& environment, int local_world_size) {
  const std::string* text = find(environment, "OMP_NUM_THREADS");
  if (!text) return 0;
  int count = 0;
  std::from_chars(text->data(), text->data() + text->size(),
                  count);  // "4,2" means 4 at the outer level
  const bool torchruns_own =
      count == 1 && local_world_size > 1 && find(environment, "TORCHELASTIC_RUN_ID");
  return torchruns_own ? 0 : std::max(count, 0);
}

Variables with(Variables environment, const Variables& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

void add_worker(Plan& plan, const Variables& environment, const dist::Env& env) {
  plan.workers.push_back(
      {"rank " + std::to_string(env.rank), with(environment, dist::to_variables(env))});
}

// One worker per GPU of each host of the job. A job of several hosts gets a launcher even for one
// worker per host, so that a host whose worker dies ends in order.
void plan_sagemaker(Plan& plan, dist::Hosts hosts, int asked, const Arguments& arguments,
                    const Variables& environment, const HostFacts& facts) {
  if (asked > 0) {
    hosts.workers_per_host = asked;
  } else if (arguments.job.device == "cpu") {
    hosts.workers_per_host = 1;
  }
  // Local mode names an interface that does not exist; then it is chosen by the route to the first
  // host.
  if (!hosts.interface.empty() && !facts.interface_exists(hosts.interface)) hosts.interface.clear();
  Variables base = environment;
  base["SM_NUM_GPUS"] = std::to_string(hosts.workers_per_host);  // a single worker reads it again
  for (const char* name : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}) {
    if (!hosts.interface.empty() && !find(base, name)) base[name] = hosts.interface;
  }
  plan.host = hosts.current_host;
  for (int i = 0; i < hosts.workers_per_host; ++i)
    add_worker(plan, base, dist::for_worker(hosts, i));
  plan.in_place = hosts.workers_per_host == 1 && hosts.hosts.size() == 1;
}

// The imagenet example starts a process per GPU where its processes share a host's batch.
int local_workers(const Arguments& arguments, int asked, const HostFacts& facts) {
  return std::max(1, asked == 0 && arguments.job.batch_per_host ? facts.gpus : asked);
}

// The workers of one of several hosts that only the command line names.
void plan_nodes(Plan& plan, int local, const Nodes& nodes, const Variables& environment) {
  const auto variable = [&](const char* name) {
    const std::string* value = find(environment, name);
    return value ? *value : "";
  };
  const std::string address =
      nodes.master_addr.empty() ? variable("MASTER_ADDR") : nodes.master_addr;
  const std::string port =
      nodes.master_port == 0 ? variable("MASTER_PORT") : std::to_string(nodes.master_port);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (address.empty() || error != std::errc() || end != port.data() + port.size() || number == 0) {
    throw UserError("--nnodes is " + std::to_string(nodes.count) +
                    ", but where the hosts meet is not known; give --master-addr HOST and "
                    "--master-port PORT, or set MASTER_ADDR and MASTER_PORT");
  }
  if (nodes.rank < 0 || nodes.rank >= nodes.count || nodes.count > kMostHosts) {
    throw UserError("--node-rank is " + std::to_string(nodes.rank) + " of --nnodes " +
                    std::to_string(nodes.count) + "; hosts are numbered from 0, and there may be " +
                    std::to_string(kMostHosts) + " of them");
  }
  const int first = static_cast<int>(nodes.rank) * local;
  for (int i = 0; i < local; ++i) {
    dist::Env env;
    env.rank = first + i;
    env.local_rank = i;
    env.world_size = static_cast<int>(nodes.count) * local;
    env.local_world_size = local;
    env.master_addr = address;
    env.master_port = number;
    add_worker(plan, environment, env);
  }
}

}  // namespace

dist::Variables tuned(dist::Variables environment, int threads) {
  environment["OMP_NUM_THREADS"] = std::to_string(threads);
  // Threads that wait for work spin a moment and then sleep: loader threads and other ranks need
  // the processors.
  if (!find(environment, "OMP_WAIT_POLICY")) environment.emplace("GOMP_SPINCOUNT", "1000");
  environment.emplace("CUBLAS_WORKSPACE_CONFIG", ":4096:8");  // bit-equal matrix products
  environment.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING",
                      "3");  // a lost peer ends the process instead of hanging it
  environment.emplace("GLOO_LOG_LEVEL", "ERROR");  // a line per connection otherwise
  return environment;
}

Plan plan_workers(const Arguments& arguments, const Variables& environment,
                  const HostFacts& facts) {
  Plan plan;
  const int asked = workers_asked(arguments, facts);
  int on_this_host = 1;
  if (const auto env = dist::from_torchrun(environment)) {
    if (asked > 0) {
      throw UserError("--nproc is " + arguments.nproc +
                      ", but RANK and WORLD_SIZE say that a launcher (torchrun?) has started this "
                      "process already; leave "
                      "out --nproc, or unset these variables");
    }
    plan.workers.push_back({"rank " + std::to_string(env->rank), environment});
    plan.in_place = true;
    on_this_host = env->local_world_size;
  } else if (const auto hosts = dist::from_sagemaker(environment)) {
    plan_sagemaker(plan, *hosts, asked, arguments, environment, facts);
    on_this_host = static_cast<int>(plan.workers.size());
  } else if (arguments.nodes.count > 1) {
    on_this_host = local_workers(arguments, asked, facts);
    plan_nodes(plan, on_this_host, arguments.nodes, environment);
  } else {
    on_this_host = local_workers(arguments, asked, facts);
    const uint16_t port = on_this_host > 1 ? facts.free_port() : uint16_t{0};
    for (int i = 0; i < on_this_host; ++i)
      add_worker(plan, environment, dist::for_local_worker(on_this_host, i, port));
    plan.in_place = on_this_host == 1;
  }

  const int users = threads_from_environment(environment, on_this_host);
  const int share = std::max(1, facts.processors / on_this_host);
  const int threads = arguments.job.threads.value_or(users > 0 ? users : share);
  if (users > 0 && !arguments.job.threads)
    plan.extra_arguments = {"--threads=" + std::to_string(users)};
  for (WorkerStart& worker : plan.workers)
    worker.environment = tuned(std::move(worker.environment), threads);
  return plan;
}

}  // namespace shoal::app
