// Tests how CheckpointStore handles files left by earlier writers and by other programs.
#include <sstream>
#include <stdexcept>

#include "tests/support/files.h"
#include "tests/train/checkpoint/store_support.h"

using namespace shoal;
using test::bytes_of;
using test::in_folder;
using test::kFirst;
using test::kSecond;
using test::Names;
using test::no_warning;
using test::text_of;
using test::write_text;
using train::CheckpointEntry;
using train::CheckpointStore;
namespace fs = std::filesystem;

namespace {

// Parses a checkpoint with the text "whole EPOCH STEP [TOP1]". Throws for any other text, as for a
// damaged checkpoint.
CheckpointEntry examine(const std::vector<char>& bytes, const std::string&) {
  std::istringstream text(text_of(bytes));
  std::string word;
  CheckpointEntry entry;
  if (!(text >> word >> entry.epoch >> entry.step) || word != "whole")
    throw std::runtime_error("it is cut");
  if (double top1 = 0; text >> top1) entry.top1 = top1;
  return entry;
}

}  // namespace

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

TEST_CASE("a damaged checkpoint without a marker is refused, then kept under another name") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c";
  fs::create_directories(folder);
  write_text(folder / (std::string(kFirst) + ".pt"), "half");
  write_text(folder / (std::string(kSecond) + ".pt"), "whole 0 7");  // step 7 in the file of step 2
  CheckpointStore store(folder, 2, examine);
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  REQUIRE_THROWS_WITH(store.newest_good(warn), Catch::Contains("none of the 2"));
  REQUIRE(warnings.size() == 2);
  REQUIRE_THAT(warnings[0], Catch::Contains(kSecond) && Catch::Contains("step-00000007"));
  REQUIRE_THAT(warnings[1], Catch::Contains(kFirst) && Catch::Contains("it is cut"));
  store.open_for_writing(warn);
  REQUIRE(warnings.size() == 4);
  for (size_t i : {2, 3}) REQUIRE_THAT(warnings[i], Catch::Contains("unknown-"));
  REQUIRE(store.names().empty());
  REQUIRE(test::read_text(folder / ("unknown-" + std::string(kFirst) + ".pt")) == "half");
  REQUIRE(test::read_text(folder / ("unknown-" + std::string(kSecond) + ".pt")) == "whole 0 7");
}

TEST_CASE("what is set aside does not replace what was set aside before") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c";
  const std::string first = kFirst, second = kSecond;
  fs::create_directories(folder);
  write_text(folder / ("unknown-" + first + ".pt"), "mine");
  write_text(folder / ("superseded-" + second + ".pt"), "precious");
  write_text(folder / ("superseded-2-" + second + ".json"), "also");
  write_text(folder / (first + ".pt"), "half");
  const auto ignore = [](const std::string&) {};
  CheckpointStore store(folder, 2, examine);
  store.open_for_writing(ignore);
  store.save(0, 2, std::nullopt, bytes_of("whole 0 2"));
  store.set_aside_after(0, 1, ignore);
  CHECK(test::read_text(folder / ("unknown-" + first + ".pt")) == "mine");
  CHECK(test::read_text(folder / ("unknown-2-" + first + ".pt")) == "half");
  CHECK(test::read_text(folder / ("superseded-" + second + ".pt")) == "precious");
  CHECK(test::read_text(folder / ("superseded-2-" + second + ".json")) == "also");
  CHECK(test::read_text(folder / ("superseded-3-" + second + ".pt")) == "whole 0 2");
  CHECK(fs::exists(folder / ("superseded-3-" + second + ".json")));
}

TEST_CASE("a newest checkpoint that cannot be read is not passed over") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "c";
  CheckpointStore store(folder, 2);
  store.open_for_writing(no_warning);
  store.save(0, 1, std::nullopt, bytes_of("one"));
  store.save(0, 2, std::nullopt, bytes_of("two"));
  const fs::path newest = folder / (std::string(kSecond) + ".pt");
  fs::remove(newest);
  fs::create_directories(newest);  // reading it fails
  REQUIRE_THROWS_WITH(store.newest_good(no_warning),
                      Catch::Contains(newest.string()) && Catch::Contains("move the file away"));
  REQUIRE(fs::exists(newest));
  fs::remove(newest);  // leaves its marker
  std::string warning;
  const auto warn = [&](const std::string& text) { warning = text; };
  REQUIRE(store.newest_good(warn).value().first.name == kFirst);
  REQUIRE_THAT(warning, Catch::Contains(newest.string()) && Catch::Contains("previous"));
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
  REQUIRE(in_folder(beside).size() == 3);  // the lock, and two files in `others`
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
  const std::string whole = test::read_text(marker);
  write_text(marker, "");
  REQUIRE(store.names() == Names{kFirst});
  REQUIRE_THROWS_WITH(store.newest_good(warn), Catch::Contains("none of the 1"));
  REQUIRE_THAT(warning, Catch::Contains(marker.string()) && Catch::Contains("damaged"));
  // A checkpoint is not used if the step in its marker differs from the step in its file name.
  const size_t step = whole.find("\"step\": 1");
  REQUIRE(step != whole.npos);
  write_text(marker, std::string(whole).replace(step, 9, "\"step\": 9"));
  REQUIRE_THROWS_WITH(store.newest_good(warn), Catch::Contains("none of the 1"));
  write_text(marker, whole);
  REQUIRE(store.newest_good(warn));

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

TEST_CASE("a temporary folder that is no longer needed is removed, unless it has other files") {
  const test::TemporaryDirectory directory;
  const fs::path inside = directory.path() / "c" / ".tmp";
  fs::create_directories(inside);
  write_text(inside / "lock", std::string(20, '\0'));  // as after a power loss
  CheckpointStore(directory.path() / "c", 2).open_for_writing();
  REQUIRE_FALSE(fs::exists(inside));
  fs::create_directories(inside);
  write_text(inside / "notes", "mine");
  CheckpointStore(directory.path() / "c", 2).open_for_writing();
  REQUIRE(test::read_text(inside / "notes") == "mine");
  write_text(inside / "lock", "of another program");
  CheckpointStore(directory.path() / "c", 2).open_for_writing();
  REQUIRE(test::read_text(inside / "lock") == "of another program");
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
