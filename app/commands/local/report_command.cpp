#include "app/commands/local/local_commands.h"
#include "app/launch/launch.h"
#include "app/launch/machine.h"

namespace shoal::app {

int report_command(const Call& call) {
  become(installed_program("shoal-report"), call.words, call.environment);
}

}  // namespace shoal::app
