#include "data/sources/cached_dataset.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/data/support.h"

using namespace shoal::data;

namespace {

// Counts how often images are read.
class Counted : public MemoryDataset {
 public:
  using MemoryDataset::MemoryDataset;
  void read(int64_t sample, Bytes& bytes) const override {
    ++reads;
    MemoryDataset::read(sample, bytes);
  }
  mutable std::atomic<int> reads{0};
};

std::shared_ptr<Counted> ten_images() {
  std::vector<Bytes> images;
  for (int64_t i = 0; i < 10; ++i) images.push_back(Bytes(1000, static_cast<uint8_t>(i)));
  return std::make_shared<Counted>(images);
}

}  // namespace

TEST_CASE("a cached image is read from its source once") {
  const auto source = ten_images();
  const CachedDataset cached(source, 1 << 20);
  Bytes bytes;
  for (int pass = 0; pass < 3; ++pass)
    for (int64_t i = 0; i < 10; ++i) {
      cached.read(i, bytes);
      CHECK(bytes == source->images[static_cast<size_t>(i)]);
    }
  CHECK(source->reads == 10);
  CHECK(cached.name(3) == source->name(3));
  CHECK(cached.label(3) == source->label(3));
  CHECK(cached.classes() == source->classes());
}

TEST_CASE("a cache holds no more than its limit") {
  const auto source = ten_images();
  const CachedDataset cached(source, 4500);
  Bytes bytes;
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t i = 0; i < 10; ++i) cached.read(i, bytes);
  CHECK(cached.cached_bytes() <= 4500);
  CHECK(source->reads == 10 + 6);  // four of the ten images fit
}

TEST_CASE("threads that read the same images share one copy") {
  const auto source = ten_images();
  const CachedDataset cached(source, 1 << 20);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        Bytes bytes;
        for (int64_t i = 0; i < 100; ++i) cached.read(i % 10, bytes);
      });
  }
  CHECK(cached.cached_bytes() < 11 * 1000);
  const int before = source->reads;
  Bytes bytes;
  cached.read(7, bytes);
  CHECK(source->reads == before);
  CHECK(bytes == source->images[7]);
}
