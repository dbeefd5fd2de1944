#include "train/step/allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace shoal::train {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kAllowed = false;
#else
constexpr bool kAllowed = true;
#endif

// The cache is never destroyed, because static tensors are freed after main() returns.
BlockCache& cache() {
  static BlockCache& instance = *new BlockCache;
  return instance;
}

void free_block(void* memory) {
  cache().free(memory);
}

class CachingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = bytes == 0 ? nullptr : cache().allocate(bytes);
    return {memory, memory, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
};

}  // namespace

bool install_allocator() {
  if (!kAllowed) return false;
  static const bool installed = [] {
    static CachingAllocator& allocator = *new CachingAllocator;
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
    return true;
  }();
  return installed;
}

AllocatorStatistics allocator_statistics() {
  return cache().statistics();
}

}  // namespace shoal::train
