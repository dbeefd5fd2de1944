// Tests saving, reading and pruning. See also leftovers_test.cpp and store_disk_test.cpp.
#include "train/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>

#include "base/file/whole_file.h"
#include "tests/support/failing_calls.h"
#include "tests/train/checkpoint/store_support.h"

using namespace shoal;
using test::bytes_of;
using test::in_folder;
using test::kFirst;
using test::Names;
using test::text_of;
using train::CheckpointStore;
namespace fs = std::filesystem;

TEST_CASE("saved checkpoints are found, newest first, and the directory has no other files") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "checkpoints", 3);
  store.open_for_writing();
  store.save(0, 10, std::nullopt, bytes_of("ten"));
  store.save(1, 20, 50.0, bytes_of("twenty"));
  const auto entries = store.entries();
  REQUIRE(entries.size() == 2);
  REQUIRE(entries[0].step == 20);
  REQUIRE(entries[0].epoch == 1);
  REQUIRE(text_of(store.read(entries[0])) == "twenty");
  REQUIRE(text_of(store.read(entries[1])) == "ten");
  size_t files = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(store.directory())) ++files;
  REQUIRE(files == 5);  // two checkpoints, two markers, the manifest
  REQUIRE(in_folder(directory.path() / ".checkpoints-tmp") == Names{"lock"});
}

TEST_CASE("a folder is locked whatever its path looks like") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "checkpoints", 3);
  store.open_for_writing();
  fs::create_directory_symlink(directory.path() / "checkpoints", directory.path() / "link");
  for (const char* path : {"link", "checkpoints/.", "checkpoints/../checkpoints/"})
    CHECK_THROWS_WITH(CheckpointStore(directory.path() / path, 3).open_for_writing(),
                      Catch::Contains("another run"));
}

TEST_CASE("pruning keeps the newest and the best checkpoints") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  const double accuracy[] = {30, 60, 40, 60, 50};
  for (int i = 0; i < 5; ++i) {
    store.save(i + 1, 10 * (i + 1), accuracy[i], bytes_of(std::to_string(i)));
  }
  std::vector<int64_t> steps;
  for (const auto& entry : store.entries()) steps.push_back(entry.step);
  REQUIRE(steps == std::vector<int64_t>{50, 40, 20});
  REQUIRE(store.best()->step == 20);  // the earlier of two equal ones
  const std::string manifest = test::read_text(directory.path() / "c" / "manifest.json");
  REQUIRE(manifest.find("epoch-0002-step-00000020.pt") != std::string::npos);
}

TEST_CASE("a closing evaluation decides the best checkpoint only until the run continues") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 1);
  store.open_for_writing();
  store.save(1, 10, 60.0, bytes_of("regular"));
  store.save(1, 15, 90.0, bytes_of("closing"), /*closing=*/true);
  REQUIRE(store.best()->step == 15);
  REQUIRE(store.names().size() == 2);  // step 10 is the best if the run continues
  store.save(2, 20, 50.0, bytes_of("continued"));
  REQUIRE(store.best()->step == 10);
  REQUIRE(store.names().size() == 3);  // the one of the closing evaluation is kept, too
  store.save(3, 30, 95.0, bytes_of("better"));
  REQUIRE(store.best()->step == 30);
  REQUIRE(store.names().size() == 1);
}

TEST_CASE("a marker whose checkpoint was deleted is neither listed, nor the best, nor kept") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  store.save(1, 10, 30.0, bytes_of("ten"));
  fs::remove(store.path(store.save(2, 20, 60.0, bytes_of("twenty"))));
  REQUIRE(store.entries().size() == 1);
  REQUIRE(store.best()->step == 10);
  store.save(3, 30, 20.0, bytes_of("thirty"));
  std::vector<int64_t> steps;
  for (const auto& entry : store.entries()) steps.push_back(entry.step);
  REQUIRE(steps == std::vector<int64_t>{30, 10});
  const std::string manifest = test::read_text(directory.path() / "c" / "manifest.json");
  REQUIRE(manifest.find("epoch-0001-step-00000010.pt") != std::string::npos);  // the best
}

TEST_CASE("a protected file is not pruned") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 1);
  store.open_for_writing();
  store.protect(store.path(store.save(0, 1, std::nullopt, bytes_of("one"))));
  store.save(0, 2, std::nullopt, bytes_of("two"));
  store.save(0, 3, std::nullopt, bytes_of("three"));
  REQUIRE(store.names() == Names{"epoch-0000-step-00000003", kFirst});
}

TEST_CASE("a damaged newest checkpoint is reported and the previous one is used") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 3);
  store.open_for_writing();
  REQUIRE_FALSE(store.newest_good([](const std::string&) {}).has_value());
  store.save(0, 1, std::nullopt, bytes_of("first"));
  store.save(0, 2, std::nullopt, bytes_of("second"));
  std::ofstream(store.path(store.entries()[0])) << "secont";
  std::vector<std::string> warnings;
  const auto found = store.newest_good([&](const std::string& text) { warnings.push_back(text); });
  REQUIRE(found->first.step == 1);
  REQUIRE(text_of(found->second) == "first");
  REQUIRE(warnings.size() == 1);
  REQUIRE(warnings[0].find("epoch-0000-step-00000002.pt") != std::string::npos);
  std::ofstream(store.path(store.entries()[1]), std::ios::trunc) << "";
  REQUIRE_THROWS_WITH(store.newest_good([](const std::string&) {}),
                      Catch::Contains("none of the 2 checkpoints"));
}

TEST_CASE("an existing checkpoint of the same position is kept") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 3);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("first"));
  const auto again =
      store.save(0, 1, std::nullopt, [](const CheckpointStore::Sink&) { FAIL("written again"); });
  REQUIRE(text_of(store.read(again)) == "first");
}

TEST_CASE("a checkpoint saved by a stop before its evaluation is replaced by the evaluated state") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "checkpoints", 3);
  store.open_for_writing();
  store.save(1, 10, std::nullopt, bytes_of("not evaluated"));
  CHECK_FALSE(store.best());
  const auto is_file = [](const std::string& path) { return path.ends_with(".pt.part"); };
  {
    const test::FailingCalls full("write", is_file, ENOSPC);
    CHECK_THROWS(store.save(1, 10, 55.5, bytes_of("evaluated")));
    CHECK(store.entries().size() == 1);  // the old one stays until the new one is on disk
  }
  store.save(1, 10, 55.5, bytes_of("evaluated"));
  REQUIRE(store.best());
  CHECK(store.best()->top1 == 55.5);
  CHECK(text_of(store.read(*store.best())) == "evaluated");
  for (const std::optional<double> top1 : {std::optional(44.4), std::optional<double>()})
    store.save(1, 10, top1, [](const CheckpointStore::Sink&) { FAIL("written again"); });
  CHECK(store.best()->top1 == 55.5);
}

TEST_CASE("an existing damaged checkpoint is written again") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 3);
  store.open_for_writing();
  const auto first = store.save(0, 1, std::nullopt, bytes_of("first"));
  std::ofstream(store.path(first), std::ios::trunc) << "fir";
  const auto again = store.save(0, 1, std::nullopt, bytes_of("second"));
  REQUIRE(text_of(store.read(again)) == "second");
  REQUIRE(store.entries().size() == 1);
}

TEST_CASE("a checkpoint opened as a file is checked against its marker") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 3);
  store.open_for_writing();
  const auto entry = store.save(0, 1, std::nullopt, bytes_of("the weights"));
  REQUIRE(text_of(train::read_checked(store.path(entry))) == "the weights");
  std::ofstream(store.path(entry), std::ios::trunc) << "the weighty";  // same length
  REQUIRE_THROWS_WITH(train::read_checked(store.path(entry)), Catch::Contains("damaged"));
  const fs::path lone = directory.path() / "lone.pt";  // a copy without its marker
  std::ofstream(lone) << "copied";
  REQUIRE(text_of(train::read_checked(lone)) == "copied");
  // If a checkpoint was copied without its marker, the checksums inside the checkpoint are checked.
  const fs::path unmarked = directory.path() / (std::string(test::kFirst) + ".pt");
  std::vector<char> bytes =
      read_whole_file(SHOAL_SOURCE_DIR "/tests/golden/weights/state_dict.pth");
  std::ofstream(unmarked, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  REQUIRE(train::read_checked(unmarked) == bytes);
  const std::string word = "collections";  // a word in the checkpoint's pickle
  const auto found = std::search(bytes.begin(), bytes.end(), word.begin(), word.end());
  REQUIRE(found != bytes.end());
  *found ^= 1;
  std::ofstream(unmarked, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  REQUIRE_THROWS_WITH(train::read_checked(unmarked), Catch::Contains(unmarked.string()));
}
