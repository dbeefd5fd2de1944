#pragma once
// Support for Elastic Fabric Adapter (EFA), the network of large EC2 instances. NCCL uses EFA
// through libfabric and a plug-in (aws-ofi-nccl). Does not use LibTorch.

#include <filesystem>
#include <string>

#include "app/launch/checks.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Fabric {
  int devices = 0;        // number of EFA devices
  std::string libfabric;  // folder of libfabric.so.1; empty: not found
  std::string plugin;     // file of NCCL's plug-in for libfabric; empty: not found
};

// Looks for EFA devices in the kernel's device list, and for the libraries in LD_LIBRARY_PATH and
// the folders of the EFA installer and aws-ofi-nccl. `root`: prefix of all paths, "/" except in
// tests.
Fabric find_fabric(const std::filesystem::path& root, const dist::Variables& environment);

// If this host has EFA, the plug-in and libfabric, adds the variables that NCCL and libfabric need:
// appends the folders of the plug-in and of libfabric to LD_LIBRARY_PATH and, unless FI_PROVIDER is
// set, sets it to efa, so that a broken EFA causes an error instead of slow TCP. Otherwise returns
// the variables unchanged.
dist::Variables with_fabric(dist::Variables environment, const Fabric& fabric);

// Returns the EFA check of `shoal doctor`.
Check fabric_check(const Fabric& fabric);

}  // namespace shoal::app
