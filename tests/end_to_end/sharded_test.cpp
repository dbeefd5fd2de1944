// Tests runs whose hosts have different images (--sharded).

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// Runs two processes as two hosts, each with its own images.
std::vector<test::Outcome> two_hosts(const fs::path& folder, const Words& more) {
  const std::string port = "MASTER_PORT=" + test::free_port();
  std::vector<test::Invocation> hosts;
  for (const char* rank : {"0", "1"}) {
    const fs::path host = folder / (std::string("host") + rank);
    Words words = {test::shoal_program(),
                   "train",
                   "--data",
                   host,
                   "--output",
                   folder / "run",
                   "--model",
                   "efficientnet_b0",
                   "--size",
                   "32",
                   "--epochs",
                   "1",
                   "--lr",
                   "0.02",
                   "--threads",
                   "1",
                   "--workers",
                   "1"};
    words.insert(words.end(), more.begin(), more.end());
    hosts.push_back({words,
                     {std::string("RANK=") + rank, "LOCAL_RANK=0", "WORLD_SIZE=2",
                      "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", port}});
  }
  return test::run_together(hosts);
}

}  // namespace

TEST_CASE("hosts with different images agree on classes and steps") {
  test::TemporaryDirectory directory;
  const fs::path root = directory.path();
  test::make_images(root / "host0", 18, 6, 3, 40);
  test::make_images(root / "host1", 12, 9, 3, 40);
  // Each host lacks one class.
  const auto first_class = [](const fs::path& half, bool last) {
    std::vector<fs::path> classes(fs::directory_iterator(half), {});
    std::sort(classes.begin(), classes.end());
    return last ? classes.back() : classes.front();
  };
  for (const char* half : {"train", "val"}) {
    fs::remove_all(first_class(root / "host0" / half, false));
    fs::remove_all(first_class(root / "host1" / half, true));
  }
  const auto runs = two_hosts(root, {"--sharded", "both", "--batch-size", "4"});
  INFO(runs[0].err << runs[1].err);
  REQUIRE((runs[0].exit_code == 0 && runs[1].exit_code == 0));
  CHECK(nlohmann::json::parse(test::read_text(root / "run/classes.json")).size() == 3);
  // The hosts have 12 and 8 training images, and 4 and 6 validation images.
  CHECK(train::CheckpointStore(root / "run/checkpoints", 1).entries().front().step == 2);
  CHECK(runs[0].out.find("valid:images=10") != std::string::npos);
  CHECK_THAT(runs[0].err, Contains("20 train and 10 val images"));
  CHECK_THAT(runs[0].err, Contains("4 images left out"));
}

TEST_CASE("hosts with different images lower the batch size of a recipe to the same number") {
  test::TemporaryDirectory directory;
  const fs::path root = directory.path();
  test::make_images(root / "host0", 12, 6, 2, 40);
  test::make_images(root / "host1", 20, 6, 2, 40);
  const auto runs = two_hosts(root, {"--sharded", "both", "--recipe", "imagenet_example"});
  INFO(runs[0].err << runs[1].err);
  REQUIRE((runs[0].exit_code == 0 && runs[1].exit_code == 0));
  CHECK_THAT(runs[0].err, Contains("lowered the batch size") && Contains("to 12"));
  CHECK(train::CheckpointStore(root / "run/checkpoints", 1).entries().front().step == 1);
}

TEST_CASE("without --sharded, hosts with different images are named before the first step") {
  test::TemporaryDirectory directory;
  test::make_images(directory.path() / "host0", 18, 6, 3, 40);
  test::make_images(directory.path() / "host1", 15, 6, 3, 40);
  const auto runs = two_hosts(directory.path(), {});
  CHECK((runs[0].exit_code == 1 && runs[1].exit_code == 1));
  CHECK_THAT(runs[0].err, Contains("host0/train") && Contains("rank 1") && Contains("15 images") &&
                              Contains("--sharded"));
}
