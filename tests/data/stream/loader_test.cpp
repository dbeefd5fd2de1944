// Tests the loader with streams from real pipes.
#include "data/loader/loader.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>

#include "data/sources/location.h"
#include "tests/data/sources/support.h"
#include "tests/data/stream/support.h"

using namespace shoal::data;
using Catch::Contains;

namespace {

struct Rows {
  std::vector<int32_t> labels;
  std::vector<uint64_t> keys;
  std::vector<int64_t> counts;
  uint64_t hash = 0;
  int64_t bad = 0;
};

Rows rest_of(Loader& loader) {
  Rows rows;
  while (const Batch* batch = loader.next()) {
    rows.counts.push_back(batch->count);
    for (const Row& row : batch->rows) {
      rows.labels.push_back(row.unreadable ? -1 : row.label);
      rows.keys.push_back(row.key);
    }
  }
  CHECK(loader.next() == nullptr);
  rows.hash = loader.stats().hash;
  rows.bad = loader.stats().bad;
  return rows;
}

// Reads one epoch from a pipe with the content `tar`.
Rows rows_of(const std::string& tar, const LoaderOptions& options, int64_t first_batch = 0,
             int64_t shuffle_buffer = 8) {
  const TempFolder folder;
  make_pipe(folder / "p_0");
  WriterProcess writer(folder / "p_0", tar);
  Loader loader(open_stream("pipe:" + folder / "p", opening(shuffle_buffer)), options);
  loader.start_epoch(0, first_batch);
  return rest_of(loader);
}

}  // namespace

TEST_CASE("an epoch of a pipe has whole batches, in the same order for any number of threads") {
  LoaderOptions options = small();
  const Rows one = rows_of(tar_of(22), options);
  CHECK(one.counts == std::vector<int64_t>(5, 4));
  const auto labels = sorted(one.labels);
  CHECK(std::adjacent_find(labels.begin(), labels.end()) == labels.end());
  CHECK(one.labels != sorted(one.labels));
  options.threads = 4;
  const Rows four = rows_of(tar_of(22), options);
  CHECK((four.labels == one.labels && four.hash == one.hash));
}

TEST_CASE("ranks use different keys") {
  LoaderOptions options = small();
  options.world_size = 2;
  const Rows first = rows_of(tar_of(16), options);
  options.rank = 1;
  const Rows second = rows_of(tar_of(16), options);
  CHECK(first.labels == second.labels);
  for (const uint64_t key : first.keys)
    CHECK(std::find(second.keys.begin(), second.keys.end(), key) == second.keys.end());
}

TEST_CASE("an epoch resumed in its middle continues with the same images and keys") {
  const Rows whole = rows_of(tar_of(24), small());
  const Rows rest = rows_of(tar_of(24), small(), 2);
  CHECK(rest.labels == std::vector<int32_t>(whole.labels.begin() + 8, whole.labels.end()));
  CHECK(rest.keys == std::vector<uint64_t>(whole.keys.begin() + 8, whole.keys.end()));
}

TEST_CASE("evaluation counts every image once, in the stream's order") {
  const Rows rows = rows_of(tar_of(10), small(false));
  CHECK(rows.counts == std::vector<int64_t>{4, 4, 2});
  CHECK(rows.labels == sorted(rows.labels));
  CHECK(rows.labels.size() == 10);
  CHECK(rows_of(tar_of(8), small(false)).counts == std::vector<int64_t>{4, 4});
}

TEST_CASE("a damaged image is replaced by the next one, for any number of threads") {
  LoaderOptions options = small();
  const Rows whole = rows_of(tar_of(12), options, 0, 0);
  const Rows damaged = rows_of(tar_of(12, 5), options, 0, 0);
  auto expected = whole.labels;
  expected[5] = expected[6];
  CHECK(damaged.labels == expected);
  CHECK(damaged.bad == 1);
  options.threads = 4;
  CHECK(rows_of(tar_of(12, 5), options, 0, 0).hash == damaged.hash);
  // If the last image is damaged, the one before replaces it.
  const auto last = rows_of(tar_of(12, 11), options, 0, 0).labels;
  CHECK(last[11] == whole.labels[10]);
  CHECK(rows_of(tar_of(12, 5), small(false)).labels[5] == -1);
  options.bad_images = BadImages::error;
  CHECK_THROWS_WITH(rows_of(tar_of(12, 5), options), Contains("c105/1.jpg"));
}

TEST_CASE("each epoch reads the next pipe, also after one that was not read to its end") {
  const TempFolder folder;
  for (const char* name : {"p_0", "p_1", "p_2"}) make_pipe(folder / name);
  WriterProcess zero(folder / "p_0", tar_of(40) + std::string(5'000'000, '\0'));
  WriterProcess one(folder / "p_1", "");
  WriterProcess two(folder / "p_2", tar_of(8));
  LoaderOptions options = small();
  options.batches = 3;
  Loader loader(open_stream("pipe:" + folder / "p", opening()), options);
  loader.start_epoch(7);
  CHECK(loader.has_batches(3));
  CHECK(rest_of(loader).counts.size() == 3);
  loader.start_epoch(8);
  CHECK_FALSE(loader.has_batches(1));
  CHECK(rest_of(loader).counts.empty());
  loader.start_epoch(9);
  CHECK(loader.has_batches(2));
  CHECK_FALSE(loader.has_batches(3));
  CHECK(rest_of(loader).counts.size() == 2);
  const StreamCounts counts = loader.count_rest(std::chrono::seconds(0));
  CHECK((counts.read == 8 && counts.complete));
}

TEST_CASE("images of an epoch that are not used are counted") {
  const TempFolder folder;
  for (const char* name : {"p_0", "p_1"}) make_pipe(folder / name);
  // More images than are read ahead.
  WriterProcess whole(folder / "p_0", tar_of(600));
  WriterProcess stalled(folder / "p_1", [](int descriptor) {
    write_text(descriptor, tar_of(50).substr(0, 30'000));
    ::pause();
  });
  LoaderOptions options = small();
  options.batches = 0;
  Loader loader(open_stream("pipe:" + folder / "p", opening(0)), options);
  loader.start_epoch(0);
  REQUIRE(loader.next() != nullptr);
  const StreamCounts all = loader.count_rest(std::chrono::seconds(60));
  CHECK((all.read == 600 && all.complete));
  loader.start_epoch(1);
  REQUIRE(loader.next() != nullptr);
  const StreamCounts some = loader.count_rest(std::chrono::milliseconds(300));
  CHECK((some.read >= 4 && some.read < 50 && !some.complete));
  loader.start_epoch(2);  // its pipe p_2 never appears
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(loader.count_rest(std::chrono::hours(1), [] { return true; }).complete);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(1));
}

TEST_CASE("if the writer dies within an image, the error names the pipe") {
  const TempFolder folder;
  make_pipe(folder / "p_0");
  const std::string tar = tar_of(20);
  WriterProcess writer(folder / "p_0", [&](int descriptor) {
    write_text(descriptor, tar.substr(0, tar.size() / 2 + 100));
    ::pause();
  });
  Loader loader(open_stream("pipe:" + folder / "p", opening(0)), small());
  loader.start_epoch(0);
  REQUIRE(loader.next() != nullptr);
  writer.kill();
  CHECK_THROWS_WITH(rest_of(loader), Contains("p_0") && Contains("is cut short"));
  CHECK_THROWS_AS(loader.has_batches(5), std::runtime_error);
}

TEST_CASE("a loader can be destroyed at once while it waits for its pipe") {
  const TempFolder folder;
  make_pipe(folder / "p_0");
  WriterProcess writer(folder / "p_0", [](int descriptor) {
    write_text(descriptor, tar_of(2).substr(0, 3000));
    ::pause();
  });
  const auto start = std::chrono::steady_clock::now();
  {
    Loader loader(open_stream("pipe:" + folder / "p", opening()), small());
    loader.start_epoch(0);
    loader.start_epoch(1);  // abandons p_0 and waits for p_1
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(1));
}

TEST_CASE("several processes divide the images of pipes with the same content") {
  std::map<int32_t, int> seen;
  for (int64_t index = 0; index < 3; ++index) {
    const TempFolder folder;
    folder.write("p_0", tar_of(10));
    OpenOptions options = opening();
    options.stream_index = index;
    options.stream_count = 3;
    Loader loader(open_stream("pipe:" + folder / "p", options), small(false));
    loader.start_epoch(0);
    for (const int32_t label : rest_of(loader).labels) ++seen[label];
  }
  CHECK(seen.size() == 10);
  CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& one) { return one.second == 1; }));
}

TEST_CASE("images of a pipe are named by their numbers, counted from 0 like records") {
  const TempFolder folder;
  folder.write("p_0", tar_of(10));
  const Loader loader(open_stream("pipe:" + folder / "p", opening()), small(false));
  CHECK(loader.image_name(0) == "image 0");
  CHECK(loader.image_name(7) == "image 7");
}

TEST_CASE("without a pipe an epoch is empty; without classes opening fails") {
  Loader none(open_stream("pipe:", opening()), small(false));
  none.start_epoch(0);
  CHECK(rest_of(none).counts.empty());
  CHECK_THROWS_WITH(open_stream("pipe:x", {}), Contains("--classes FILE"));
}
