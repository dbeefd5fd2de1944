#pragma once
// Elastic Fabric Adapter (EFA), the network of large EC2 instances. NCCL uses it through libfabric
// and a plug-in (aws-ofi-nccl). Torch-free.

#include <filesystem>
#include <string>

#include "app/launch/checks.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Fabric {
  int devices = 0;        // number of EFA devices
  std::string libfabric;  // folder of libfabric.so.1; empty: not found
  std::string plugin;     // NCCL's plug-in for it, a file; empty: not found
};

// Searches below `root` ("/"): the kernel's device list, and libraries in LD_LIBRARY_PATH and the
// folders of the EFA installer and aws-ofi-nccl.
Fabric find_fabric(const std::filesystem::path& root, const dist::Variables& environment);

// Adds what NCCL and libfabric need on a host with EFA and the plug-in: FI_PROVIDER=efa unless set,
// so that a broken EFA is an error instead of slow TCP, and the folders of the plug-in and libfabric
// in LD_LIBRARY_PATH. Elsewhere returns the variables unchanged.
dist::Variables with_fabric(dist::Variables environment, const Fabric& fabric);

Check fabric_check(const Fabric& fabric);

}  // namespace shoal::app
