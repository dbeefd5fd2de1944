#include "app/commands/local/local_commands.h"
#include "app/commands/local/metric_definitions.h"
#include "app/platform/failure.h"
#include "base/log.h"

namespace shoal::app {

int metrics_command(const Call&) {
  log::line(metric_definitions_json());
  return kOk;
}

}  // namespace shoal::app
