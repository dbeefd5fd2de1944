#include "base/file/file_lock.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/capture.h"
#include "tests/support/failing_calls.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a folder has one writer at a time, and its lock ends with the writer") {
  const test::TemporaryDirectory directory;
  {
    const FileLock first(directory.path() / "lock", "here", "name", 0);
    REQUIRE(first.held());
    REQUIRE_THROWS_WITH(
        FileLock(directory.path() / "lock", "here", "name", 0.1),
        Contains("writing to here (process " + std::to_string(::getpid()) + " on ") &&
            Contains("another name"));
    REQUIRE(is_locked(directory.path() / "lock"));
    REQUIRE_THROWS_WITH(require_unlocked(directory.path() / "lock", "here", "name"),
                        Contains("writing to here"));
  }
  REQUIRE_FALSE(is_locked(directory.path() / "lock"));
  {
    const FileLock second(directory.path() / "lock", "here", "name", 0);
    REQUIRE(second.held());
    second.remove_file();
    REQUIRE_FALSE(fs::exists(directory.path() / "lock"));
  }
  REQUIRE(FileLock(directory.path() / "lock", "here", "name", 0).held());
  REQUIRE_FALSE(FileLock(directory.path() / "no/such/folder/lock", "here", "name", 0).held());
}

TEST_CASE("without locks, or if the file cannot be opened, a warning names the place") {
  const test::TemporaryDirectory directory;
  const auto locked = test::capture([&] {
    const test::FailingCalls none(
        "flock", [](const std::string&) { return true; }, ENOLCK);
    const FileLock first(directory.path() / "lock", "this folder", "name", 0);
    return none.count() == 1 ? 0 : 1;
  });
  CHECK(locked.code == 0);
  CHECK_THAT(locked.err, Contains("cannot lock") && Contains("this folder"));
  const auto unopened = test::capture([&] {  // a folder cannot be opened for writing
    return FileLock(directory.path(), "this folder", "name", 0).held() ? 1 : 0;
  });
  CHECK(unopened.code == 0);
  CHECK_THAT(unopened.err, Contains("cannot lock") && Contains("this folder"));
  const test::FailingCalls interrupted(
      "flock", [](const std::string&) { return true; }, EINTR, 1);
  const FileLock held(directory.path() / "lock", "here", "name", 0);
  CHECK_THROWS_WITH(FileLock(directory.path() / "lock", "here", "name", 0), Contains("here"));
}

// If the lock file is removed between open() and flock(), that lock excludes nobody, because other
// processes create and lock a new file. This happens in every run of the test.
TEST_CASE("a lock has one holder at a time, even if each holder removes its file") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "lock";
  // The threads count errors, because Catch2 can assert in one thread only.
  std::atomic<int> holders = 0, together = 0, without_file = 0;
  {
    const auto lock_often = [&] {
      for (int i = 0; i < 2000; ++i) {
        const FileLock lock(file, "here", "name", 60);
        if (holders++ != 0) ++together;
        if (!fs::exists(file)) ++without_file;
        --holders;
        lock.remove_file();
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(lock_often);
  }
  CHECK(together == 0);
  CHECK(without_file == 0);
}
