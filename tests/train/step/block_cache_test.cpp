#include "train/step/block_cache.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using shoal::train::BlockCache;

constexpr size_t kMiB = size_t{1} << 20;

}  // namespace

TEST_CASE("blocks of every size are aligned, writable and at most 1/8 too large") {
  BlockCache cache;
  for (size_t bytes : {size_t{1}, size_t{64}, size_t{960}, size_t{961}, size_t{1025}, size_t{4096},
                       size_t{100000}, kMiB - 64, kMiB, 3 * kMiB + 7, 17 * kMiB, 65 * kMiB}) {
    INFO(bytes << " bytes");
    void* memory = cache.allocate(bytes);
    CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
    std::memset(memory, 0x5a, bytes);
    const auto in_use = static_cast<double>(cache.statistics().bytes_in_use);
    CHECK(in_use >= static_cast<double>(bytes + 64));
    CHECK(in_use <= static_cast<double>(bytes + 64) * 1.125 + 64);
    cache.free(memory);
    CHECK(cache.statistics().bytes_in_use == 0);
  }
}

TEST_CASE("a freed block is used again by the next request of its size") {
  BlockCache cache;
  for (size_t bytes : {size_t{100}, size_t{50000}, 20 * kMiB}) {
    void* first = cache.allocate(bytes);
    cache.free(first);
    CHECK(cache.allocate(bytes) == first);
    cache.free(first);
  }
  CHECK(cache.statistics().system_allocations == 3);
}

TEST_CASE("a loop that repeats its requests takes no more memory from the system") {
  BlockCache cache;
  uint64_t after_first = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<void*> held;
    for (size_t i = 1; i < 40; ++i) held.push_back(cache.allocate(i * i * 3001));
    while (!held.empty()) {
      cache.free(held.back());
      held.pop_back();
    }
    if (round == 0) after_first = cache.statistics().system_allocations;
  }
  CHECK(after_first == 39);
  CHECK(cache.statistics().system_allocations == after_first);
}

TEST_CASE("cached memory stays within half of the peak plus 64 MiB") {
  BlockCache cache;
  // Every size is new, so no block is reused. Without a limit, 4.6 GiB would be cached.
  for (size_t i = 0; i < 80; ++i) {
    const size_t bytes = static_cast<size_t>(20e6 * (1 + static_cast<double>(i) * 0.05));
    cache.free(cache.allocate(bytes));
    const auto now = cache.statistics();
    CHECK(now.bytes_in_use + now.bytes_cached <=
          now.peak_bytes_in_use + now.peak_bytes_in_use / 2 + 64 * kMiB);
  }
  CHECK(cache.statistics().bytes_cached > 0);
  cache.release_cached();
  CHECK(cache.statistics().bytes_cached == 0);
}

TEST_CASE("an impossible request throws and leaves the cache usable") {
  BlockCache cache;
  CHECK_THROWS_AS(cache.allocate(~size_t{0}), std::bad_alloc);
  CHECK_THROWS_AS(cache.allocate(size_t{1} << 47), std::bad_alloc);
  void* memory = cache.allocate(10);
  CHECK(memory != nullptr);
  cache.free(memory);
  cache.free(nullptr);
}

TEST_CASE("threads may allocate and free blocks concurrently, and free those of other threads") {
  BlockCache cache;
  std::vector<void*> handed_over(4 * 200);
  const auto work = [&](int thread) {
    for (int i = 0; i < 200; ++i) {
      const size_t bytes = 100 + static_cast<size_t>(i % 17) * 9000;
      auto* mine = static_cast<char*>(cache.allocate(bytes));
      mine[0] = mine[bytes - 1] = static_cast<char>(thread);
      auto* kept = static_cast<char*>(cache.allocate(bytes));
      kept[0] = static_cast<char>(thread);
      handed_over[static_cast<size_t>(thread * 200 + i)] = kept;
      cache.free(mine);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < handed_over.size(); ++i) {
    CHECK(*static_cast<char*>(handed_over[i]) == static_cast<char>(i / 200));
    cache.free(handed_over[i]);
  }
  CHECK(cache.statistics().bytes_in_use == 0);
}
