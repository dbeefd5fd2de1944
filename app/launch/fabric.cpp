#include "app/launch/fabric.h"

#include <algorithm>
#include <vector>

#include "base/file/folder.h"
#include "base/format/counted.h"
#include "base/text.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPath = "LD_LIBRARY_PATH";

std::vector<std::string> folders_of(const std::string& list) {
  std::vector<std::string> folders = split(list, ':');
  std::erase(folders, "");
  return folders;
}

int efa_devices(const fs::path& root) {
  int count = 0;
  std::error_code error;
  for (const auto& device : entries_of(root / "sys/class/infiniband", error))
    count += fs::read_symlink(device.path() / "device/driver", error).filename() == "efa";
  return count;
}

// Returns the first existing file FOLDER/NAME below `root`, as a path without root, or an empty
// string.
std::string first_of(const fs::path& root, const std::vector<std::string>& folders,
                     const std::vector<std::string>& names) {
  std::error_code error;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const fs::path file = fs::path(folder) / name;
      if (fs::exists(root / file.relative_path(), error)) return file.string();
    }
  }
  return "";
}

}  // namespace

Fabric find_fabric(const fs::path& root, const dist::Variables& environment) {
  Fabric fabric;
  fabric.devices = efa_devices(root);
  auto folders = folders_of(dist::value_of(environment, kPath));
  for (const char* folder :
       {"/opt/amazon/efa/lib", "/opt/amazon/efa/lib64", "/opt/amazon/ofi-nccl/lib",
        "/opt/amazon/ofi-nccl/lib64", "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
        "/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu", "/opt/aws-ofi-nccl/lib", "/usr/local/lib"})
    folders.push_back(folder);
  fabric.libfabric =
      fs::path(first_of(root, folders, {"libfabric.so.1", "libfabric.so"})).parent_path().string();
  fabric.plugin =
      first_of(root, folders, {"libnccl-net-ofi.so", "libnccl-net-aws-ofi.so", "libnccl-net.so"});
  return fabric;
}

dist::Variables with_fabric(dist::Variables environment, const Fabric& fabric) {
  if (fabric.devices == 0 || fabric.plugin.empty() || fabric.libfabric.empty()) return environment;
  environment.emplace("FI_PROVIDER", "efa");
  std::string& path = environment[kPath];
  for (const std::string& folder :
       {fs::path(fabric.plugin).parent_path().string(), fabric.libfabric}) {
    const auto present = folders_of(path);
    if (std::find(present.begin(), present.end(), folder) == present.end())
      path += (path.empty() ? "" : ":") + folder;
  }
  return environment;
}

Check fabric_check(const Fabric& fabric) {
  Check check{Check::Verdict::ok, "EFA", "no device; several hosts communicate over TCP", ""};
  if (fabric.devices == 0) return check;
  check.value = counted(fabric.devices, "device") + ", libfabric " +
                (fabric.libfabric.empty() ? "not found" : "in " + fabric.libfabric) +
                ", NCCL plug-in " + (fabric.plugin.empty() ? "not found" : fabric.plugin) +
                ", provider " + (fabric.libfabric.empty() || fabric.plugin.empty() ? "TCP" : "efa");
  if (fabric.libfabric.empty() || fabric.plugin.empty()) {
    check.verdict = Check::Verdict::warn;
    check.advice =
        "NCCL will use slow TCP; install libfabric (EFA installer) and aws-ofi-nccl in the image, "
        "or add their folders to LD_LIBRARY_PATH";
  }
  return check;
}

}  // namespace shoal::app
