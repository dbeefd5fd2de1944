// Size classes are multiples of 64 bytes up to 1 KiB, then eight sizes per doubling, like numbers
// with three mantissa bits. The header in front of a block stores the block's class, so freeing
// needs no search. While the block is cached, the header links it into the free list of its class.
// Free lists are last in, first out, because the block freed last is most likely in the CPU caches.
#include "train/step/block_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "base/round.h"

namespace shoal::train {
namespace {

constexpr size_t kHeader = 64;  // bytes; keeps the memory after it aligned to cache lines
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMapped = size_t{1} << 20;  // blocks of at least this size come from mmap
constexpr uint64_t kSlack = uint64_t{64} << 20;

struct ClassSize {
  size_t index;
  size_t bytes;
};

ClassSize class_of(size_t bytes) {
  if (bytes <= 1024) {
    const size_t units = ceil_divide(bytes, 64);
    return {units - 1, units * 64};
  }
  const auto doubling = static_cast<size_t>(std::bit_width(bytes - 1)) - 1;  // 2^doubling < bytes
  const size_t step = size_t{1} << (doubling - 3);
  const size_t steps = ceil_divide(bytes - (size_t{1} << doubling), step);  // 1..8
  return {16 + (doubling - 10) * 8 + steps - 1, (size_t{1} << doubling) + steps * step};
}

void* map_aligned(size_t bytes) {
  const size_t reserve = bytes + kHugePage;
  void* start = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* first = static_cast<char*>(start);
  const size_t skip =
      round_up(reinterpret_cast<uintptr_t>(first), kHugePage) - reinterpret_cast<uintptr_t>(first);
  if (skip > 0) munmap(first, skip);
  munmap(first + skip + bytes, reserve - skip - bytes);
  madvise(first + skip, bytes, MADV_HUGEPAGE);  // only a hint: errors are ignored
  return first + skip;
}

void* take_from_system(size_t bytes) {
  if (bytes >= kMapped) return map_aligned(round_up(bytes, 4096));
  return std::aligned_alloc(64, bytes);
}

void give_to_system(void* memory, size_t bytes) noexcept {
  if (bytes >= kMapped) {
    munmap(memory, round_up(bytes, 4096));
  } else {
    std::free(memory);
  }
}

}  // namespace

struct BlockCache::Header {
  Header* next;
  size_t bytes;  // including the header
  size_t size_class;
};

void* BlockCache::allocate(size_t bytes) {
  if (bytes > (size_t{1} << 48)) throw std::bad_alloc();
  const ClassSize wanted = class_of(bytes + kHeader);
  const std::lock_guard lock(mutex_);
  SizeClass& size_class = classes_[wanted.index];
  size_class.last_used = ++clock_;
  Header* block = size_class.free_blocks;
  if (block != nullptr) {
    size_class.free_blocks = block->next;
    statistics_.bytes_cached -= wanted.bytes;
  } else {
    make_room(wanted.bytes);
    void* memory = take_from_system(wanted.bytes);
    if (memory == nullptr) {
      release_all();
      memory = take_from_system(wanted.bytes);
    }
    if (memory == nullptr) throw std::bad_alloc();
    block = new (memory) Header{nullptr, wanted.bytes, wanted.index};
    ++statistics_.system_allocations;
  }
  statistics_.bytes_in_use += wanted.bytes;
  statistics_.peak_bytes_in_use = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use);
  return reinterpret_cast<char*>(block) + kHeader;
}

void BlockCache::free(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* block = reinterpret_cast<Header*>(static_cast<char*>(memory) - kHeader);
  const std::lock_guard lock(mutex_);
  SizeClass& size_class = classes_[block->size_class];
  size_class.last_used = ++clock_;
  block->next = size_class.free_blocks;
  size_class.free_blocks = block;
  statistics_.bytes_in_use -= block->bytes;
  statistics_.bytes_cached += block->bytes;
}

void BlockCache::release_cached() noexcept {
  const std::lock_guard lock(mutex_);
  release_all();
}

AllocatorStatistics BlockCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void BlockCache::make_room(size_t bytes) noexcept {
  const uint64_t peak = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use + bytes);
  const uint64_t limit = peak + peak / 2 + kSlack;
  while (statistics_.bytes_cached > 0 &&
         statistics_.bytes_in_use + statistics_.bytes_cached + bytes > limit) {
    SizeClass* oldest = nullptr;
    for (SizeClass& each : classes_) {
      if (each.free_blocks == nullptr) continue;
      if (oldest == nullptr || each.last_used < oldest->last_used) oldest = &each;
    }
    release_one(*oldest);
  }
}

void BlockCache::release_all() noexcept {
  for (SizeClass& size_class : classes_) {
    while (size_class.free_blocks != nullptr) release_one(size_class);
  }
}

void BlockCache::release_one(SizeClass& size_class) noexcept {
  Header* block = size_class.free_blocks;
  size_class.free_blocks = block->next;
  statistics_.bytes_cached -= block->bytes;
  give_to_system(block, block->bytes);
}

}  // namespace shoal::train
