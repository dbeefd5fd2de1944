#include "train/checkpoint/checkpoint_store.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "program.h"
#include "tests/support/failing_calls.h"

using namespace shoal;
using train::CheckpointEntry;
using train::CheckpointStore;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

Names in_folder(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

auto bytes_of(const std::string& text) {
  return [text](const CheckpointStore::Sink& sink) {
    sink(text.data(), text.size() / 2);
    sink(text.data() + text.size() / 2, text.size() - text.size() / 2);
  };
}

std::string text_of(const std::vector<char>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// Accepts "whole EPOCH STEP [TOP1]".
CheckpointEntry examine(const std::vector<char>& bytes, const std::string&) {
  std::istringstream text(text_of(bytes));
  std::string word;
  CheckpointEntry entry;
  if (!(text >> word >> entry.epoch >> entry.step) || word != "whole")
    throw std::runtime_error("it is cut");
  if (double top1 = 0; text >> top1) entry.top1 = top1;
  return entry;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

void no_warning(const std::string& text) {
  FAIL(text);
}

constexpr const char* kFirst = "epoch-0000-step-00000001";
constexpr const char* kSecond = "epoch-0000-step-00000002";

}  // namespace

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
  REQUIRE(store.best()->step == 20);  // of equal ones, the earlier
  const std::string manifest = test::read_text(directory.path() / "c" / "manifest.json");
  REQUIRE(manifest.find("epoch-0002-step-00000020.pt") != std::string::npos);
}

TEST_CASE("a whole checkpoint without a marker is found, and gets one from the next writer") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c";
  fs::create_directories(folder);
  write_text(folder / (std::string(kFirst) + ".pt"), "whole 0 1 50");
  write_text(folder / (std::string(kSecond) + ".pt"), "whole 0 2");
  CheckpointStore store(folder, 2, examine);
  REQUIRE(store.entries().empty());
  REQUIRE(store.names() == Names{kSecond, kFirst});
  REQUIRE(store.newest_good(no_warning).value().first.name == kSecond);
  store.open_for_writing(no_warning);
  const auto entries = store.entries();
  REQUIRE(entries.size() == 2);
  REQUIRE(text_of(store.read(entries[0])) == "whole 0 2");
  REQUIRE(store.best()->name == kFirst);
  REQUIRE(store.best()->top1 == 50);
  REQUIRE_THAT(test::read_text(folder / "manifest.json"), Catch::Contains(kFirst));
}

TEST_CASE("a checkpoint without a marker that is not whole is refused, then kept by another name") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c";
  fs::create_directories(folder);
  write_text(folder / (std::string(kFirst) + ".pt"), "half");
  write_text(folder / (std::string(kSecond) + ".pt"), "whole 0 7");  // of another step
  CheckpointStore store(folder, 2, examine);
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  REQUIRE_THROWS_WITH(store.newest_good(warn), Catch::Contains("none of the 2"));
  REQUIRE(warnings.size() == 2);
  REQUIRE_THAT(warnings[0], Catch::Contains(kSecond) && Catch::Contains("step-00000007"));
  REQUIRE_THAT(warnings[1], Catch::Contains(kFirst) && Catch::Contains("it is cut"));
  store.open_for_writing(warn);
  REQUIRE(warnings.size() == 4);
  REQUIRE(store.names().empty());
  REQUIRE(test::read_text(folder / ("unknown-" + std::string(kFirst) + ".pt")) == "half");
  REQUIRE(test::read_text(folder / ("unknown-" + std::string(kSecond) + ".pt")) == "whole 0 7");
}

TEST_CASE("files of others stay, temporary files of a killed writer do not") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c", beside = directory.path() / ".c-tmp";
  fs::create_directories(folder / ".tmp");
  fs::create_directories(beside);
  const std::vector<fs::path> others = {folder / "epoch-best.pt",
                                        folder / "epoch-1-step-2.pt",
                                        folder / "epoch-0000-step-00000002.pt.bak",
                                        folder / ".tmp/notes",
                                        beside / "epoch-0000-step-00000002.pt",
                                        beside / ".notes.part"};
  for (const fs::path& other : others) write_text(other, "mine");
  for (const char* name : {"epoch-0000-step-00000003.pt", "manifest.json", "history.jsonl"})
    write_text(beside / ("." + std::string(name) + ".part"), "half");
  CheckpointStore store(folder, 1, examine);
  store.open_for_writing(no_warning);
  store.save(0, 1, std::nullopt, bytes_of("one"));
  store.save(0, 2, std::nullopt, bytes_of("two"));
  store.set_aside_after(0, 1, [](const std::string&) {});
  for (const fs::path& other : others) {
    INFO(other.string());
    REQUIRE(test::read_text(other) == "mine");
  }
  REQUIRE(in_folder(beside).size() == 3);  // the lock, and two of others
}

TEST_CASE("damaged markers and a folder that cannot be read are never an empty store") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c", marker = folder / (std::string(kFirst) + ".json");
  {
    CheckpointStore store(folder, 2);
    store.open_for_writing();
    store.save(0, 1, std::nullopt, bytes_of("one"));
  }
  const CheckpointStore store(folder, 2);
  std::string warning;
  const auto warn = [&](const std::string& text) { warning = text; };
  write_text(marker, "");
  REQUIRE(store.names() == Names{kFirst});
  REQUIRE_THROWS_WITH(store.newest_good(warn), Catch::Contains("none of the 1"));
  REQUIRE_THAT(warning, Catch::Contains(marker.string()) && Catch::Contains("damaged"));

  fs::remove(marker);
  fs::create_directories(marker);  // reading it fails
  REQUIRE_THROWS_WITH(store.newest_good(warn), Catch::Contains(marker.string()));

  const fs::path file = directory.path() / "file";
  write_text(file, "no folder");
  REQUIRE_THROWS_WITH(CheckpointStore(file, 2).newest_good(warn),
                      Catch::Contains(file.string()) && Catch::Contains("Not a directory"));
  REQUIRE_FALSE(CheckpointStore(directory.path() / "none", 2).newest_good(warn));
}

TEST_CASE("a damaged newer checkpoint is set aside, with a damaged marker too") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("one"));
  store.save(0, 2, std::nullopt, bytes_of("two"));
  write_text(store.directory() / (std::string(kSecond) + ".json"), "{");
  std::string warning;
  const auto warn = [&](const std::string& text) { warning = text; };
  REQUIRE(store.newest_good(warn).value().first.name == kFirst);
  store.set_aside_after(0, 1, warn);
  REQUIRE(store.names() == Names{kFirst});
  REQUIRE(test::read_text(store.directory() / ("superseded-" + std::string(kSecond) + ".pt")) ==
          "two");
}

TEST_CASE("where files cannot be renamed from beside the folder, they are written inside",
          "[slow]") {
  const test::TemporaryDirectory directory;
  const test::FailingCalls mounts(
      "rename", [](const std::string& path) { return path.find(".c-tmp/") != path.npos; }, EXDEV);
  CheckpointStore store(directory.path() / "c", 2);
  store.open_for_writing();
  REQUIRE(mounts.count() == 1);  // before the first checkpoint
  store.save(0, 1, std::nullopt, bytes_of("one"));
  REQUIRE(store.newest_good(no_warning).value().first.name == kFirst);
  REQUIRE_THROWS_WITH(CheckpointStore(directory.path() / "c", 2).open_for_writing(),
                      Catch::Contains("another run"));
  REQUIRE(in_folder(directory.path() / "c" / ".tmp") == Names{"lock"});
}

TEST_CASE("a folder inside that is no longer needed is removed, unless it holds other files") {
  const test::TemporaryDirectory directory;
  const fs::path inside = directory.path() / "c" / ".tmp";
  fs::create_directories(inside);
  write_text(inside / "lock", "");
  CheckpointStore(directory.path() / "c", 2).open_for_writing();
  REQUIRE_FALSE(fs::exists(inside));
  fs::create_directories(inside);
  write_text(inside / "notes", "mine");
  CheckpointStore(directory.path() / "c", 2).open_for_writing();
  REQUIRE(test::read_text(inside / "notes") == "mine");
}

TEST_CASE("an interrupted save is completed: marker, manifest, and pruning") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c";
  {
    CheckpointStore store(folder, 9, examine);
    store.open_for_writing();
    for (int step = 1; step <= 3; ++step)
      store.save(0, step, std::nullopt, bytes_of("whole 0 " + std::to_string(step)));
  }
  write_text(folder / "manifest.json", "{}");
  CheckpointStore store(folder, 2, examine);
  store.open_for_writing(no_warning);
  REQUIRE_THAT(test::read_text(folder / "manifest.json"), Catch::Contains("step-00000003.pt"));
  store.prune();
  REQUIRE(store.names() == Names{"epoch-0000-step-00000003", kSecond});
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

TEST_CASE("a failed rename or flush is tried again; the checkpoints stay") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 1);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("one"));
  const auto is_second = [](const std::string& path) { return path.find(kSecond) != path.npos; };
  for (const char* call : {"rename", "fsync"}) {
    const test::FailingCalls always(call, is_second, EIO);
    REQUIRE_THROWS_WITH(store.save(0, 2, std::nullopt, bytes_of("two")),
                        Catch::Contains("Input/output"));
    REQUIRE(store.names() == Names{kFirst});
  }
  const test::FailingCalls once("fsync", is_second, EIO, 1);
  store.save(0, 2, std::nullopt, bytes_of("two"));
  REQUIRE(store.names() == Names{kSecond});
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

TEST_CASE("checkpoints after the position of a resumed run are set aside and not pruned") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "c", 1);
  store.open_for_writing();
  store.save(0, 1, std::nullopt, bytes_of("one"));
  CheckpointStore(store.directory(), 9).save(0, 2, std::nullopt, bytes_of("two"));
  CheckpointStore(store.directory(), 9).save(1, 2, 90.0, bytes_of("two, evaluated"));
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  store.set_aside_after(0, 1, warn);
  REQUIRE(store.entries().size() == 1);
  REQUIRE(store.entries()[0].step == 1);
  REQUIRE_FALSE(store.best().has_value());
  REQUIRE(warnings.size() == 1);
  REQUIRE(warnings[0].find("epoch-0001-step-00000002") != std::string::npos);
  REQUIRE(fs::exists(store.directory() / "superseded-epoch-0001-step-00000002.pt"));
  store.save(0, 2, std::nullopt, bytes_of("another two"));
  REQUIRE(text_of(store.read(store.entries()[0])) == "another two");
  store.open_for_writing();
  REQUIRE(fs::exists(store.directory() / "superseded-epoch-0001-step-00000002.pt"));
  store.set_aside_after(0, 2, warn);
  REQUIRE(warnings.size() == 1);
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
}
