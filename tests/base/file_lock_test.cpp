#include "base/file_lock.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/support/temporary_directory.h"

using namespace shoal;
namespace fs = std::filesystem;

TEST_CASE("a folder has one writer at a time, and the lock goes with it") {
  const test::TemporaryDirectory directory;
  {
    const FileLock first(directory.path() / "lock", "here", "name", 0);
    REQUIRE(first.held());
    REQUIRE_THROWS_WITH(
        FileLock(directory.path() / "lock", "here", "name", 0.1),
        Catch::Contains("another run is writing to here; wait until it has ended, or choose "
                        "another name"));
  }
  {
    const FileLock second(directory.path() / "lock", "here", "name", 0);
    REQUIRE(second.held());
    second.remove_file();
    REQUIRE_FALSE(fs::exists(directory.path() / "lock"));
  }
  REQUIRE(FileLock(directory.path() / "lock", "here", "name", 0).held());
  REQUIRE_FALSE(FileLock(directory.path() / "no/such/folder/lock", "here", "name", 0).held());
}

TEST_CASE("who waits for a lock whose file is removed gets one of a file that is there") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "lock";
  auto first = std::make_unique<FileLock>(file, "here", "name", 0);
  std::jthread waiting([&] {
    const FileLock second(file, "here", "name", 60);
    REQUIRE(second.held());
    REQUIRE(fs::exists(file));
    REQUIRE_THROWS(FileLock(file, "here", "name", 0));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  first->remove_file();
  first.reset();
}
