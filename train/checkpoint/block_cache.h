#pragma once
// Blocks of memory that are kept by size class when freed, and handed out again. Torch-free.
//
// Large blocks come straight from the kernel, start on a 2 MiB boundary and ask for huge pages;
// small ones come from malloc. A block is at most 1/8 larger than asked (small ones: rounded up to
// 64 bytes) plus a header of 64 bytes. In use plus cached never exceeds 1.5 times the peak in use
// plus 64 MiB: before a new block is taken from the system beyond that, cached ones go back, those
// of the class that was used longest ago first. Thread-safe; one lock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace shoal::train {

struct AllocatorStatistics {
  uint64_t bytes_in_use = 0;  // in blocks handed out, headers and rounding included
  uint64_t bytes_cached = 0;  // in blocks that wait for reuse
  uint64_t peak_bytes_in_use = 0;
  // Blocks taken from the system so far; stands still once a loop has settled.
  uint64_t system_allocations = 0;
};

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache() { release_cached(); }  // blocks still in use are not touched
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // 64-byte aligned memory of at least `bytes`, contents undefined. Throws std::bad_alloc.
  void* allocate(size_t bytes);
  // Takes a block of this cache back, on any thread; nullptr does nothing.
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
