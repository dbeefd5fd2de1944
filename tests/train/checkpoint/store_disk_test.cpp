// Tests CheckpointStore on full and failing disks, and across mounts.
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "tests/support/failing_calls.h"
#include "tests/train/checkpoint/store_support.h"

using namespace shoal;
using test::bytes_of;
using test::in_folder;
using test::kFirst;
using test::kSecond;
using test::Names;
using test::no_warning;
using train::CheckpointStore;
namespace fs = std::filesystem;

namespace {

// Runs `change`. Returns whether it flushed the folder at a time when the checkpoint's marker was
// already deleted but the checkpoint still contained `text`.
bool loses_marker_first(const fs::path& folder, const std::string& name, const std::string& text,
                        const std::function<void()>& change) {
  bool seen = false;
  const auto look = [&](const std::string& path) {
    seen = seen || (path == folder.string() && !fs::exists(folder / (name + ".json")) &&
                    test::read_text(folder / (name + ".pt")) == text);
    return false;
  };
  const test::FailingCalls flushes("fsync", look, EIO);
  change();
  return seen;
}

// A store that keeps one checkpoint, and has saved kFirst.
struct OneCheckpoint {
  test::TemporaryDirectory directory;
  fs::path folder = directory.path() / "c";
  CheckpointStore store = CheckpointStore(folder, 1);

  OneCheckpoint() {
    store.open_for_writing();
    store.save(0, 1, std::nullopt, bytes_of("one"));
  }
  void save_second() { store.save(0, 2, std::nullopt, bytes_of("two")); }
  bool has(const std::string& file) const { return fs::exists(folder / file); }
};

const std::string kFirstMarker = std::string(kFirst) + ".json";
const std::string kSecondMarker = std::string(kSecond) + ".json";

}  // namespace

TEST_CASE("where files cannot be renamed from beside the folder, they are written inside",
          "[slow]") {
  const test::TemporaryDirectory directory;
  const test::FailingCalls mounts(
      "rename", [](const std::string& path) { return path.find(".c-tmp/") != path.npos; }, EXDEV);
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  REQUIRE(mounts.count() == 1);  // open_for_writing() tries to rename
  store.save(0, 1, std::nullopt, bytes_of("one"));
  REQUIRE(store.newest_good(no_warning).value().first.name == kFirst);
  REQUIRE_THROWS_WITH(CheckpointStore(directory.path() / "c", 2).open_for_writing(),
                      Catch::Contains("another run"));
  REQUIRE(in_folder(directory.path() / "c" / ".tmp") == Names{"lock"});
}

TEST_CASE("checkpoint folders that are removed during a run are created and locked again") {
  for (const char* removed : {".c-tmp", "c"}) {
    OneCheckpoint one;
    fs::remove_all(one.directory.path() / removed);
    one.save_second();
    CHECK(one.has(kSecondMarker));
    REQUIRE_THROWS_WITH(CheckpointStore(one.folder, 1).open_for_writing(),
                        Catch::Contains("another run"));
  }
}

TEST_CASE("a temporary folder inside the checkpoint folder is created again") {
  const test::TemporaryDirectory directory;
  const test::FailingCalls mounts(
      "rename", [](const std::string& path) { return path.find(".c-tmp/") != path.npos; }, EXDEV);
  CheckpointStore store(directory.path() / "c", 1);
  store.open_for_writing();
  fs::remove_all(directory.path() / "c");
  store.save(0, 1, std::nullopt, bytes_of("one"));
  CHECK(store.newest_good(no_warning).value().first.name == kFirst);
}

TEST_CASE("a checkpoint folder that cannot be listed is an error, not an empty folder") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("one"));
  const std::string folder = directory.path() / "c";
  const test::FailingCalls broken(
      "readdir", [&](const std::string& path) { return path == folder; }, EIO);
  CHECK_THROWS_WITH(store.entries(), Catch::Contains(folder));
  CHECK_THROWS_WITH(store.newest_good(no_warning), Catch::Contains(folder));
}

TEST_CASE("a folder into which files cannot be renamed is refused") {
  const test::TemporaryDirectory directory;
  const test::FailingCalls mounts(
      "rename", [](const std::string&) { return true; }, EXDEV);
  REQUIRE_THROWS_WITH(CheckpointStore(directory.path() / "c", 2).open_for_writing(),
                      Catch::Contains("--checkpoint-dir"));
}

TEST_CASE("a full disk is tried again without the checkpoints that would be pruned") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  store.save(0, 1, 90.0, bytes_of("one"));
  store.save(0, 2, std::nullopt, bytes_of("two"));
  store.save(0, 3, std::nullopt, bytes_of("three"));
  REQUIRE(store.entries().size() == 3);
  const auto is_fourth = [](const std::string& path) {
    return path.find("step-00000004.pt") != path.npos;
  };
  {
    const test::FailingCalls full("write", is_fourth, ENOSPC, 1);
    store.save(0, 4, std::nullopt, bytes_of("four"));
  }
  REQUIRE(store.names() == Names{"epoch-0000-step-00000004", "epoch-0000-step-00000003", kFirst});

  const test::FailingCalls broken(
      "write", [](const std::string& path) { return path.ends_with(".part"); }, EDQUOT);
  REQUIRE_THROWS_WITH(store.save(0, 5, std::nullopt, bytes_of("five")), Catch::Contains("quota"));
  // The newest and the best stay.
  REQUIRE(store.names() == Names{"epoch-0000-step-00000004", kFirst});
  REQUIRE(in_folder(directory.path() / ".c-tmp") == Names{"lock"});
}

TEST_CASE("a new checkpoint stays if a full disk prevents only the update of the manifest") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("one"));
  store.save(0, 2, std::nullopt, bytes_of("two"));
  const auto is_manifest = [](const std::string& path) {
    return path.find("manifest.json") != path.npos;
  };
  const test::FailingCalls full("write", is_manifest, ENOSPC);
  CHECK_THROWS(store.save(0, 3, std::nullopt, bytes_of("three")));
  CHECK(store.names() == Names{"epoch-0000-step-00000003", kSecond});
}

TEST_CASE("a failed write, rename or flush is tried again; the checkpoints stay") {
  const int error = GENERATE(EIO, EROFS);
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 1);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("one"));
  const auto is_second = [](const std::string& path) { return path.find(kSecond) != path.npos; };
  for (const char* call : {"write", "rename", "fsync"}) {
    const test::FailingCalls always(call, is_second, error);
    REQUIRE_THROWS_WITH(store.save(0, 2, std::nullopt, bytes_of("two")),
                        Catch::Contains(std::generic_category().message(error)));
    REQUIRE(store.names() == Names{kFirst});
  }
  const test::FailingCalls once("fsync", is_second, error, 1);
  store.save(0, 2, std::nullopt, bytes_of("two"));
  REQUIRE(store.names() == Names{kSecond});
}

TEST_CASE("a marker is gone from the disk before its checkpoint changes") {
  OneCheckpoint one;
  CHECK(loses_marker_first(one.folder, kFirst, "one", [&] { one.save_second(); }));
  CHECK(one.store.names() == Names{kSecond});
  CHECK(loses_marker_first(one.folder, kSecond, "two",
                           [&] { one.store.save(0, 2, 50.0, bytes_of("evaluated")); }));
  CHECK(loses_marker_first(one.folder, kSecond, "evaluated",
                           [&] { one.store.set_aside_after(0, 1, [](const std::string&) {}); }));
  CHECK(one.store.names().empty());
}

TEST_CASE("pruning makes space even if the folder cannot be flushed, and reports the failure") {
  const int times = GENERATE(1, 1000);
  OneCheckpoint one;
  const auto is_pruning = [&](const std::string& path) {
    return path == one.folder.string() && !one.has(kFirstMarker);
  };
  const test::FailingCalls broken("fsync", is_pruning, EIO, times);
  if (times == 1) {
    one.save_second();
    CHECK(broken.seen() > broken.count());  // flushed the folder again
  } else {
    CHECK_THROWS_WITH(one.save_second(), Catch::Contains(one.folder.string()));
  }
  CHECK(one.store.names() == Names{kSecond});
  CHECK_FALSE(one.has(std::string(kFirst) + ".pt"));
}

TEST_CASE("on a full disk, a new checkpoint is flushed before older ones are removed") {
  OneCheckpoint one;
  std::vector<bool> first_is_left;  // one value per flush of the folder with the new marker
  const auto is_second = [&](const std::string& path) {
    if (path != one.folder.string() || !one.has(kSecondMarker)) return false;
    first_is_left.push_back(one.has(kFirstMarker));
    return true;
  };
  const test::FailingCalls once("fsync", is_second, ENOSPC, 1);
  one.save_second();
  REQUIRE(first_is_left.size() >= 2);
  CHECK(first_is_left[0]);
  CHECK(first_is_left[1]);
  CHECK(one.store.names() == Names{kSecond});
}

TEST_CASE("a failed write leaves no checkpoint") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 3);
  store.open_for_writing();
  REQUIRE_THROWS(store.save(0, 1, std::nullopt, [](const CheckpointStore::Sink& sink) {
    sink("half", 4);
    throw std::runtime_error("out of memory");
  }));
  REQUIRE(store.entries().empty());
  REQUIRE_FALSE(fs::exists(directory.path() / "c" / "epoch-0000-step-00000001.pt"));
}
