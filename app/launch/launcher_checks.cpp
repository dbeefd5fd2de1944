// `shoal doctor --launcher`: shows the launcher that started this process, and the workers that a
// training command would start.
#include "app/launch/checks.h"
#include "app/launch/fabric.h"
#include "app/launch/plan.h"
#include "base/net/host.h"
#include "dist/env/env.h"
#include "dist/env/network.h"

namespace shoal::app {
namespace {

using Verdict = Check::Verdict;

std::string describe_worker(const dist::Env& env) {
  std::string text = "of " + std::to_string(env.world_size) + ", local rank " +
                     std::to_string(env.local_rank) + " of " + std::to_string(env.local_world_size);
  if (env.world_size == 1) return text;
  text += ", master " + env.master_addr + ":" + std::to_string(env.master_port) +
          (env.agent_store ? " (the launcher's store)" : " (rank 0's store)");
  text += ", interface " + (env.interface.empty() ? "chosen by the route to it" : env.interface);
  if (env.attempt > 0) text += ", attempt " + std::to_string(env.attempt);
  return text;
}

// Checks the master's address in a job of several hosts. A host's name may resolve only after the
// host has started. A job waits for that; this check does not.
std::vector<Check> master_checks(const dist::Env& env) {
  const std::string& master = env.master_addr;
  if (env.world_size == env.local_world_size) return {};
  if (!dist::has_address(master))
    return {{Verdict::bad, "master", "cannot resolve " + master,
             "correct the name or the name service of this host; a job waits for the name for "
             "--rendezvous-timeout"}};
  if (names_loopback(master))
    return {{Verdict::warn, "master", master + " is this host's loopback address",
             "other hosts cannot reach it; use rank 0's address in the network"}};
  return {};
}

}  // namespace

std::vector<Check> launcher_checks(const Arguments& arguments, const dist::Variables& environment) {
  const HostFacts facts = host_facts(environment);
  const Plan plan = plan_workers(arguments, environment, facts);
  std::vector<Check> checks = {{Verdict::ok, "launched by", plan.launched_by, ""}};
  std::string names;
  for (const std::string& name : plan.variables)
    if (const std::string* value = dist::find(environment, name))
      names += (names.empty() ? "" : " ") + name + "=" + *value;
  if (!names.empty()) checks.push_back({Verdict::ok, "variables", names, ""});
  for (const std::string& note : plan.notes) checks.push_back({Verdict::warn, "note", note, ""});
  std::vector<Check> master;
  for (const WorkerStart& worker : plan.workers) {
    const dist::Env env = dist::this_worker(worker.environment);
    if (master.empty()) master = master_checks(env);
    checks.push_back(
        {Verdict::ok, "rank " + std::to_string(env.rank),
         describe_worker(env) + ", compute threads: " + worker.environment.at("OMP_NUM_THREADS"),
         ""});
  }
  checks.insert(checks.end(), master.begin(), master.end());
  checks.push_back(fabric_check(facts.fabric));
  return checks;
}

}  // namespace shoal::app
