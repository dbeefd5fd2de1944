#include <algorithm>

#include "app/commands/local/local_commands.h"
#include "app/launch/checks.h"
#include "app/launch/launch.h"
#include "app/launch/machine.h"
#include "app/launch/plan.h"
#include "app/platform/failure.h"
#include "base/log.h"
#include "base/net/host.h"

namespace shoal::app {

int doctor_command(const Call& call) {
  if (call.arguments.launcher) {
    return print_checks({[&] { return launcher_checks(call.arguments, call.environment); }});
  }
  const int processes = requested_processes(call.arguments, host_facts(call.environment));
  const int host = print_checks(host_checks(call.arguments.job, processes, call.environment));
  log::require_lines_written();
  Launch launch_plan;
  try {
    launch_plan.program = worker_program();
  } catch (const SetupMissing&) {
    return host;  // host_checks() has reported the missing worker program
  }
  launch_plan.arguments = call.words;
  launch_plan.workers = {{"the worker", call.environment}};
  launch_plan.host = host_name();
  return std::max(host, launch(launch_plan));
}

}  // namespace shoal::app
