#pragma once
// Allocates LibTorch's CPU tensors from a cache of blocks on huge pages.
//
// glibc returns every large activation to the kernel and gets it back zeroed, so about half of a
// training step is spent on page faults. block_cache.h describes the cache and its overhead.
// Affects only speed.

#include "train/checkpoint/block_cache.h"

namespace shoal::train {

// Allocates all later CPU tensors from the cache; older ones are freed as before. Call once, early,
// before other threads create tensors; further calls do nothing. Returns false and keeps LibTorch's
// allocator in builds with the address sanitizer, because a cache would hide errors.
bool install_allocator();

AllocatorStatistics allocator_statistics();  // zeros if not installed
void release_cached_memory();                // returns all cached blocks to the system

}  // namespace shoal::train
