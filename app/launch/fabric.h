#pragma once
// Elastic Fabric Adapter (EFA): the network of large instances, which NCCL reaches through
// libfabric and a plug-in (aws-ofi-nccl). Torch-free.

#include <filesystem>
#include <string>

#include "app/launch/checks.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Fabric {
  int devices = 0;        // EFA devices that this host has
  std::string libfabric;  // folder of libfabric.so.1; empty: not found
  std::string plugin;     // NCCL's plug-in for it, a file; empty: not found
};

// Looks below `root` ("/"): the kernel's list of devices; libraries in LD_LIBRARY_PATH and where
// the EFA installer and aws-ofi-nccl put them.
Fabric find_fabric(const std::filesystem::path& root, const dist::Variables& environment);

// What NCCL and libfabric need on a host with EFA and the plug-in, unless the user has set it:
// FI_PROVIDER=efa, so that a broken EFA is an error and not a slow TCP; the plug-in's and
// libfabric's folders in LD_LIBRARY_PATH, where NCCL looks for them. Elsewhere the variables as
// they are.
dist::Variables with_fabric(dist::Variables environment, const Fabric& fabric);

Check fabric_check(const Fabric& fabric);

}  // namespace shoal::app
