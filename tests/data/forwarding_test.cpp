// Datasets that wrap another dataset forward everything that they do not change.
#include <catch2/catch.hpp>

#include "base/hash.h"
#include "data/sources/cached_dataset.h"
#include "data/sources/relabeled.h"
#include "data/split.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

// Overrides functions of BasicDataset, mostly with results that depend on the sample.
class Everything : public MemoryDataset {
 public:
  Everything() : MemoryDataset(std::vector<Bytes>(40, Bytes(3)), 2) {
    for (size_t i = 0; i < images.size(); ++i) images[i][0] = static_cast<uint8_t>(i);
  }
  void will_read(int64_t first, int64_t count) const override {
    for (int64_t i = first; i < first + count; ++i) announced.push_back(i);
  }
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override {
    index.resize(static_cast<size_t>(sample + 1));
    return true;
  }
  bool keeps_indexes() const override { return true; }
  int64_t encoded_bytes(int64_t sample) const override { return 100 + sample; }
  uint64_t stored_hash(int64_t sample) const override {
    return 1000 + static_cast<uint64_t>(sample);
  }
  std::optional<FilePlace> file_place(int64_t sample) const override {
    return FilePlace{static_cast<uint32_t>(sample), 7, "set.tar"};
  }
  void start_over() const override { ++started_over; }

  mutable std::vector<int64_t> announced;
  mutable int started_over = 0;
};

// Checks that sample i of `dataset` is sample expected[i] of `inner`.
void check_forwards(const Dataset& dataset, const Everything& inner,
                    const std::vector<int64_t>& expected) {
  REQUIRE(dataset.size() == static_cast<int64_t>(expected.size()));
  jpeg::SeekIndex index, other;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t sample = expected[static_cast<size_t>(i)];
    CHECK(dataset.name(i) == inner.name(sample));
    CHECK(dataset.key(i) == inner.key(sample));
    CHECK(dataset.classes()[static_cast<size_t>(dataset.label(i))] ==
          inner.classes()[static_cast<size_t>(inner.label(sample))]);
    CHECK(dataset.encoded_bytes(i) == inner.encoded_bytes(sample));
    CHECK(dataset.stored_hash(i) == inner.stored_hash(sample));
    REQUIRE(dataset.file_place(i));
    CHECK(dataset.file_place(i)->file == sample);
    CHECK((dataset.seek_index(i, index) && inner.seek_index(sample, other)));
    CHECK(index.size() == other.size());
  }
  CHECK(dataset.keeps_indexes());
  inner.announced.clear();
  dataset.will_read(1, 3);
  CHECK(inner.announced == std::vector<int64_t>(expected.begin() + 1, expected.begin() + 4));
  Bytes bytes;
  // After will_read(): a cache does not announce images once it holds them all.
  for (int64_t i = 0; i < dataset.size(); ++i) {
    dataset.read(i, bytes);
    CHECK(bytes == inner.images[static_cast<size_t>(expected[static_cast<size_t>(i)])]);
  }
  const int before = inner.started_over;
  dataset.start_over();
  CHECK(inner.started_over == before + 1);
}

}  // namespace

TEST_CASE("a cache, new classes and a part of a dataset forward what they do not change") {
  const auto inner = std::make_shared<Everything>();
  std::vector<int64_t> all(40);
  for (int64_t i = 0; i < 40; ++i) all[static_cast<size_t>(i)] = i;
  check_forwards(CachedDataset(inner, 1 << 20), *inner, all);
  std::vector<std::string> more = inner->classes();
  more.insert(more.begin(), "a class before the others");
  const auto relabeled = with_classes(inner, more, "all hosts");
  CHECK(relabeled->label(0) == inner->label(0) + 1);
  check_forwards(*relabeled, *inner, all);
  std::vector<int64_t> held_out;
  for (const int64_t i : all)
    if (is_held_out(shoal::hash_bytes(split_key(
                        inner->classes()[static_cast<size_t>(inner->label(i))], inner->name(i))),
                    0.5))
      held_out.push_back(i);
  REQUIRE(held_out.size() >= 4);
  check_forwards(*part_of(inner, Part::validation, 0.5), *inner, held_out);
}
