#pragma once
// Allocates LibTorch's CPU tensors from a cache of blocks on huge pages.
//
// Without the cache, glibc returns the memory of every large activation to the kernel, and page
// faults for new memory take about half of a training step. train/step/block_cache.h describes the
// cache and its overhead. Affects only speed.

#include "train/step/block_cache.h"

namespace shoal::train {

// Makes LibTorch allocate all later CPU tensors from the cache. Call it once at the start, before
// other threads create tensors. Further calls do nothing. With the address sanitizer, returns false
// and keeps LibTorch's allocator, because a cache would hide memory errors.
bool install_allocator();

AllocatorStatistics allocator_statistics();  // all zero if the cache is not installed

}  // namespace shoal::train
