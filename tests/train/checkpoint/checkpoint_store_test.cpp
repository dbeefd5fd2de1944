#include "train/checkpoint/checkpoint_store.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "program.h"

using namespace shoal;
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

TEST_CASE("a file without a marker is ignored, and the next writer removes it") {
  const test::TemporaryDirectory directory;
  std::optional<CheckpointStore> interrupted(std::in_place, directory.path() / "c", 2);
  interrupted->open_for_writing();
  interrupted->save(0, 1, std::nullopt, bytes_of("one"));
  interrupted.reset();
  std::ofstream(directory.path() / "c" / "epoch-0000-step-00000002.pt") << "half";
  std::ofstream(directory.path() / ".c-tmp" / "epoch-0000-step-00000003.pt") << "half";
  CheckpointStore store(directory.path() / "c", 2);
  REQUIRE(store.entries().size() == 1);
  store.open_for_writing();
  REQUIRE_FALSE(fs::exists(directory.path() / "c" / "epoch-0000-step-00000002.pt"));
  REQUIRE(in_folder(directory.path() / ".c-tmp") == Names{"lock"});
  REQUIRE(store.entries().size() == 1);
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

TEST_CASE("a checkpoint that a stop saved before its evaluation gets its accuracy later") {
  const test::TemporaryDirectory directory;
  CheckpointStore store(directory.path() / "checkpoints", 3);
  store.open_for_writing();
  const auto state = [](const CheckpointStore::Sink& sink) { sink("state", 5); };
  const auto first = store.save(1, 10, std::nullopt, state);
  CHECK_FALSE(store.best());
  store.save(1, 10, 55.5, [](const CheckpointStore::Sink&) { FAIL("written again"); });
  REQUIRE(store.best());
  CHECK(store.best()->top1 == 55.5);
  CHECK(store.best()->checksum == first.checksum);
  store.save(1, 10, 44.4, state);  // does not replace an existing accuracy
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
