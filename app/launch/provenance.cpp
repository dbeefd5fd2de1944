#include "app/launch/provenance.h"

#include <sys/utsname.h>

#include "app/launch/machine.h"
#include "app/options/settings/config_text.h"
#include "app/options/settings/settings.h"
#include "app/version.h"
#include "base/net/host.h"
#include "base/process/proc.h"

namespace shoal::app {

train::Provenance provenance_of(const Arguments& arguments, const dist::Variables& environment) {
  utsname system{};
  ::uname(&system);
  train::Provenance result{kVersion, kCommit, command_text(arguments), "", {}};
  result.host = {{"name", host_name()},
                 {"system", std::string(system.sysname) + " " + system.release},
                 {"architecture", system.machine},
                 {"processor", proc_value("/proc/cpuinfo", "model name")},
                 {"processors", std::to_string(usable_processors())},
                 {"memory_bytes", std::to_string(memory_bytes())},
                 {"gpus", std::to_string(gpu_count(environment))}};
  result.config = config_text(arguments, result);
  return result;
}

}  // namespace shoal::app
