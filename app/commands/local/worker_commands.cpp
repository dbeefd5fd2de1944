// Starts the workers of commands that shoal-worker runs.
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "app/commands/local/local_commands.h"
#include "app/launch/checks.h"
#include "app/launch/launch.h"
#include "app/launch/machine.h"
#include "app/launch/plan.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "base/log.h"
#include "base/net/host.h"
#include "dist/env/launcher.h"
#include "dist/env/network.h"

namespace shoal::app {
namespace {

// After a stop signal, the launcher waits for --stop-timeout plus this many seconds before it kills
// the workers.
constexpr double kMoreThanWorkers = 10;

int start(const Plan& plan, const Call& call) {
  std::vector<WorkerStart> workers = plan.workers;
  for (WorkerStart& worker : workers)
    worker.environment[kWordsVariable] = std::to_string(call.words.size());
  Launch start_of{worker_program(), call.words, workers,
                  plan.host.empty() ? host_name() : plan.host,
                  reporting(call.environment).failure_file};
  start_of.arguments.insert(start_of.arguments.end(), plan.extra_arguments.begin(),
                            plan.extra_arguments.end());
  // PID 1 of a container must handle signals, which have no default action there, and reap orphans.
  // A worker never reaps orphans, and catches signals only after it has installed its handlers.
  // So, in a SageMaker container or as PID 1, this process stays the worker's parent.
  const bool platform = call.arguments.job.on_platform && plan.launched_by != "torchrun";
  start_of.early_stop_is_fine = platform;
  start_of.stop_seconds = call.arguments.job.stop_timeout + kMoreThanWorkers;
  // When a worker fails, the others get as much time to end as after a stop signal, because rank 0
  // may save a checkpoint.
  start_of.grace_seconds = std::max(start_of.grace_seconds, start_of.stop_seconds);
  if (plan.in_place && ::getpid() != 1 && !platform)
    become(start_of.program, start_of.arguments, workers[0].environment);
  return launch(start_of);
}

// Throws std::runtime_error if this host would keep the workers from starting or connecting. Does
// not check limits with --health-check off.
void check_host(const Plan& plan, const Call& call) {
  const train::Job& job = call.arguments.job;
  if (plan.workers.size() > 1) dist::loopback_address();
  if (job.health_check == "off") return;
  const int workers = static_cast<int>(plan.workers.size());
  for (const Check& check : limit_checks(threads_needed(job, workers)))
    if (check.verdict == Check::Verdict::bad)
      throw std::runtime_error(check.name + ": " + check.value + "; " + check.advice +
                               (call.arguments.command == Command::train
                                    ? ", or skip the check with --health-check off"
                                    : ""));
}

}  // namespace

void clear_earlier_failure(const dist::Variables& environment) {
  try {
    // Under a launcher such as mpirun, another rank of this run may already have written the file.
    if (!dist::find_launcher(environment)) clear_failure_file(reporting(environment).failure_file);
  } catch (const std::invalid_argument&) {  // incomplete variables of a launcher
  }
}

int start_ranks(const Call& call) {
  clear_earlier_failure(call.environment);
  if (!call.arguments.job.resume) train::check_values(call.arguments.job);
  const Plan plan = plan_workers(call.arguments, call.environment, host_facts(call.environment));
  log::set_level(call.arguments.job.log_level, 0);
  for (const std::string& note : plan.notes) log::warning(note);
  if (plan.workers.empty()) return kOk;
  check_host(plan, call);
  const auto& paths = call.arguments.paths;
  if (plan.workers.size() > 1 && std::ranges::find(paths, "-") != paths.end() &&
      ::isatty(STDIN_FILENO) == 1)
    throw UserError("several processes cannot read - from a terminal; use `< FILE`, or --nproc 1");
  return start(plan, call);
}

int start_worker(const Call& call) {
  Plan plan;
  plan.in_place = true;
  const Arguments& arguments = call.arguments;
  int threads = arguments.job.threads.value_or(usable_processors());
  // Without --threads, `bench loader` measures with several thread counts. OMP_NUM_THREADS must not
  // restrict it to a single count.
  const bool loads = !arguments.paths.empty() && arguments.paths[0] == "loader";
  if (!arguments.job.threads && !loads && find_option(arguments.command, "threads")) {
    if (const int given = threads_from_environment(call.environment, 1); given > 0) {
      threads = given;
      plan.extra_arguments = {"--threads=" + std::to_string(given)};
    }
  }
  plan.workers = {{"the worker", tuned(call.environment, threads)}};
  return start(plan, call);
}

}  // namespace shoal::app
