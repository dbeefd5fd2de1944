#include "app/commands/local/local_commands.h"
#include "app/commands/local/metric_definitions.h"
#include "app/platform/failure.h"
#include "base/log.h"

namespace shoal::app {

int metrics_command(const Call& call) {
  if (!call.arguments.definitions) {
    throw UserError(
        "usage: `shoal metrics --definitions` prints MetricDefinitions for a SageMaker training "
        "job");
  }
  log::line(metric_definitions_json());
  return kOk;
}

}  // namespace shoal::app
