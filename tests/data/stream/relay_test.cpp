#include "data/stream/relay.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <set>

#include "data/loader/loader.h"
#include "data/sources/location.h"
#include "tests/data/stream/support.h"

using namespace shoal::data;
using Catch::Contains;

namespace {

// Returns the stream of process `place` (0 to 2) of three that share the pipe folder/p.
std::shared_ptr<const Stream> shared_pipe(const TempFolder& folder, int64_t place) {
  OpenOptions options = opening(0);
  options.relay = {folder / "relay", place, 3};
  return open_stream("pipe:" + folder / "p", options);
}

// Reads at most `most` batches in process `place` and returns their labels.
std::vector<int32_t> labels_of(const TempFolder& folder, int64_t place, int64_t most = 1000) {
  Loader loader(shared_pipe(folder, place), small());
  loader.start_epoch(0);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < most && loader.has_batches(i + 1); ++i)
    for (const Row& row : loader.next()->rows) labels.push_back(row.label);
  return labels;
}

std::vector<std::vector<int32_t>> all_labels(const TempFolder& folder, int64_t most_of_second) {
  std::vector<std::future<std::vector<int32_t>>> running;
  for (int64_t place = 0; place < 3; ++place)
    running.push_back(std::async(std::launch::async, [&folder, place, most_of_second] {
      return labels_of(folder, place, place == 1 ? most_of_second : 1000);
    }));
  std::vector<std::vector<int32_t>> all;
  for (auto& one : running) all.push_back(one.get());
  return all;
}

}  // namespace

TEST_CASE("each image of a shared pipe goes to one process of the host") {
  const TempFolder folder;
  make_pipe(folder / "p_0");
  WriterProcess writer(folder / "p_0", tar_of(38));
  const auto all = all_labels(folder, 1000);
  std::set<int32_t> seen;
  for (size_t place = 0; place < 3; ++place) {
    CHECK(all[place].size() == 12);
    CHECK(all[place][0] == static_cast<int32_t>((place + 2) % 3));
    for (const int32_t label : all[place]) CHECK(seen.insert(label).second);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "relay"));
}

TEST_CASE("a process that stops reading does not block the others") {
  const TempFolder folder;
  make_pipe(folder / "p_0");
  WriterProcess writer(folder / "p_0", tar_of(38));
  const auto all = all_labels(folder, 1);
  CHECK((all[0].size() == 12 && all[1].size() == 4 && all[2].size() == 12));
}

TEST_CASE("if the process that reads the pipe fails, the others report it too") {
  const TempFolder folder;
  make_pipe(folder / "p_0");
  const std::string tar = tar_of(38);
  WriterProcess writer(folder / "p_0", tar.substr(0, tar.size() / 2 + 100));
  std::vector<std::future<std::vector<int32_t>>> running;
  for (int64_t place = 0; place < 3; ++place)
    running.push_back(
        std::async(std::launch::async, [&folder, place] { return labels_of(folder, place); }));
  CHECK_THROWS_WITH(running[0].get(), Contains("p_0") && Contains("is cut short"));
  CHECK_THROWS_WITH(running[1].get(), Contains("is cut short"));
  CHECK_THROWS_WITH(running[2].get(), Contains("is cut short"));
}
