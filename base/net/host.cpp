#include "base/net/host.h"

#include <unistd.h>

namespace shoal {

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && *name ? name : "this host";
}

}  // namespace shoal
