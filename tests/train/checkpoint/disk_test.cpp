#include "train/checkpoint/disk.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

std::vector<std::string> warnings_of(const DiskNeed& need) {
  std::vector<std::string> said;
  check_disk(need, "runs/a", [&](const std::string& text) { said.push_back(text); });
  return said;
}

}  // namespace

TEST_CASE("too little space for all checkpoints is a warning, for even one an error") {
  CHECK(warnings_of({500, 100, 500}).empty());
  const auto some = warnings_of({499'000'000, 100'000'000, 500'000'000});
  REQUIRE(some.size() == 1);
  CHECK_THAT(some[0], Contains("runs/a") && Contains("499.0 MB") && Contains("500.0 MB") &&
                          Contains("--keep"));
  CHECK_THROWS_WITH(warnings_of({99, 100, 500}),
                    Contains("runs/a") && Contains("--checkpoint-dir"));
  CHECK(warnings_of({-1, 100, 500}).empty());  // -1: the free space is unknown
}

TEST_CASE("the space needed counts kept checkpoints that already exist only once") {
  const test::TemporaryDirectory directory;
  const auto folder = directory.path() / "not/yet/there";
  CheckpointStore store(folder, 2);
  const DiskNeed fresh = disk_need(store, 1000, 2);
  CHECK(fresh.most == 4000);  // the two newest, the best and the one being written
  CHECK(fresh.checkpoint == 1000);
  CHECK(fresh.free > 0);  // free space of the nearest existing folder
  CHECK_FALSE(std::filesystem::exists(folder));

  store.open_for_writing();
  const std::string bytes(1000, 'x');
  store.save(1, 10, std::nullopt,
             [&](const CheckpointStore::Sink& sink) { sink(bytes.data(), bytes.size()); });
  CHECK(disk_need(store, 1000, 2).most == 3000);
  CHECK(disk_need(store, 1000, int64_t{1} << 40).most > 0);
  CHECK(disk_need(store, 10, 2).most == 10);  // never less than one checkpoint
}
