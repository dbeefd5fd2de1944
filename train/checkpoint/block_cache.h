#pragma once
// Caches freed memory blocks by size class and reuses them. Torch-free.
//
// Large blocks come directly from the kernel, are aligned to 2 MiB and request huge pages. Small
// blocks come from malloc. A block is at most 1/8 larger than requested (small ones: rounded up to
// 64 bytes), plus a header of 64 bytes. Used plus cached bytes never exceed 1.5 times the peak of
// used bytes plus 64 MiB: before a new block would exceed that limit, cached blocks are released,
// those of the least recently used class first. Thread-safe; one lock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace shoal::train {

struct AllocatorStatistics {
  uint64_t bytes_in_use = 0;  // in blocks handed out, including headers and rounding
  uint64_t bytes_cached = 0;  // in blocks waiting for reuse
  uint64_t peak_bytes_in_use = 0;
  // Blocks requested from the system so far. Constant once a loop has reached its steady state.
  uint64_t system_allocations = 0;
};

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache() { release_cached(); }  // blocks still in use are not touched
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns 64-byte aligned, uninitialized memory of at least `bytes`. Throws std::bad_alloc.
  void* allocate(size_t bytes);
  // Returns a block of this cache, from any thread. nullptr does nothing.
  void free(void* memory) noexcept;
  void release_cached() noexcept;  // to the system
  AllocatorStatistics statistics() const;

 private:
  struct Header;
  struct SizeClass {
    Header* free_blocks = nullptr;
    uint64_t last_used = 0;
  };
  static constexpr size_t kClasses = 16 + 8 * 40;  // up to 2^50 bytes

  void make_room(size_t bytes) noexcept;
  void release_one(SizeClass& size_class) noexcept;

  mutable std::mutex mutex_;
  std::array<SizeClass, kClasses> classes_;
  AllocatorStatistics statistics_;
  uint64_t clock_ = 0;
};

}  // namespace shoal::train
