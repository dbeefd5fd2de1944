#include "app/launch/fabric.h"

#include <catch2/catch.hpp>

#include "tests/support/capture.h"

using namespace shoal;
using app::Fabric;
using Catch::Contains;
using test::Folder;

namespace {

namespace fs = std::filesystem;

void add_device(const Folder& root, const std::string& name, const std::string& driver) {
  const fs::path device = root / ("sys/class/infiniband/" + name + "/device");
  fs::create_directories(device);
  fs::create_symlink("/sys/bus/pci/drivers/" + driver, device / "driver");
}

}  // namespace

TEST_CASE("without EFA, the environment is not changed") {
  Folder root;
  add_device(root, "mlx5_0", "mlx5_core");
  const Fabric fabric = app::find_fabric(root.text(), {});
  CHECK(fabric.devices == 0);
  const dist::Variables environment = {{"PATH", "/bin"}};
  CHECK(app::with_fabric(environment, fabric) == environment);
  CHECK_THAT(app::to_line(app::fabric_check(fabric)), Contains("ok    EFA: no device"));
}

TEST_CASE("EFA is used if its libraries exist, and the user's variables are kept") {
  Folder root;
  for (const char* name : {"rdmap0s6", "rdmap1s6"}) add_device(root, name, "efa");
  test::write_text(root / "opt/amazon/efa/lib/libfabric.so.1", "");
  CHECK_THAT(app::to_line(app::fabric_check(app::find_fabric(root.text(), {}))),
             Contains("warn  EFA: 2 devices") && Contains("plug-in not found") &&
                 Contains("aws-ofi-nccl"));
  test::write_text(root / "plugins/libnccl-net.so", "");
  const dist::Variables environment = {{"LD_LIBRARY_PATH", "/a:/plugins"}};
  const Fabric fabric = app::find_fabric(root.text(), environment);
  CHECK(fabric.devices == 2);
  CHECK(fabric.libfabric == "/opt/amazon/efa/lib");
  CHECK(fabric.plugin == "/plugins/libnccl-net.so");
  const auto made = app::with_fabric(environment, fabric);
  CHECK(made.at("FI_PROVIDER") == "efa");
  CHECK(made.at("LD_LIBRARY_PATH") == "/a:/plugins:/opt/amazon/efa/lib");
  CHECK(app::with_fabric(made, fabric) == made);
  CHECK(app::with_fabric({{"FI_PROVIDER", "tcp"}}, fabric).at("FI_PROVIDER") == "tcp");
  CHECK_THAT(app::to_line(app::fabric_check(fabric)),
             Contains("ok    EFA: 2 devices") && Contains("provider efa"));
}
