#pragma once
// Caches freed memory blocks by size class and reuses them. Does not use LibTorch.
//
// Blocks of 1 MiB and more come directly from the kernel, are aligned to 2 MiB and request huge
// pages. Smaller blocks come from malloc. A block includes a header of 64 bytes. Its size is
// rounded up to a multiple of 64 bytes or, above 1 KiB, by at most 1/8. Used plus cached bytes are
// limited to 64 MiB + 1.5 × (peak of used bytes): if a new block would exceed the limit, the cache
// first releases cached blocks, beginning with the least recently used size class. Thread-safe,
// with one lock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace shoal::train {

struct AllocatorStatistics {
  uint64_t bytes_in_use = 0;  // in blocks that are in use, including headers and rounding
  uint64_t bytes_cached = 0;  // in free blocks kept for reuse
  uint64_t peak_bytes_in_use = 0;
  // Number of blocks requested from the system so far. It stays constant while all allocations
  // reuse cached blocks.
  uint64_t system_allocations = 0;
};

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache() { release_cached(); }  // does not free blocks that are still in use
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns 64-byte aligned, uninitialized memory of at least `bytes`. Throws std::bad_alloc.
  void* allocate(size_t bytes);
  // Takes back a block from allocate(). Any thread may call it. Does nothing for nullptr.
  void free(void* memory) noexcept;
  void release_cached() noexcept;  // returns all cached blocks to the system
  AllocatorStatistics statistics() const;

 private:
  struct Header;
  struct SizeClass {
    Header* free_blocks = nullptr;
    uint64_t last_used = 0;
  };
  static constexpr size_t kClasses = 16 + 8 * 40;  // the largest class has 2^50 bytes

  void make_room(size_t bytes) noexcept;
  void release_all() noexcept;
  void release_one(SizeClass& size_class) noexcept;

  mutable std::mutex mutex_;
  std::array<SizeClass, kClasses> classes_;
  AllocatorStatistics statistics_;
  uint64_t clock_ = 0;
};

}  // namespace shoal::train
