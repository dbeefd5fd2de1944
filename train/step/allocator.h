#pragma once
// Makes LibTorch's CPU tensors come from a cache of blocks on huge pages.
//
// glibc gives every large activation back to the kernel and takes it again zeroed, so that about
// half of a training step goes into page faults. block_cache.h says how the cache works and what it
// may waste. Changes only the speed.

#include "train/checkpoint/block_cache.h"

namespace shoal::train {

// Every CPU tensor from now on comes from the cache; older ones are freed where they came from.
// Call once, early, before other threads make tensors; further calls do nothing. Returns false, and
// leaves LibTorch's allocator, in builds with the address sanitizer, where a cache would hide
// errors.
bool install_allocator();

AllocatorStatistics allocator_statistics();  // zeros when not installed
void release_cached_memory();  // gives all cached blocks back to the system; they fault in anew

}  // namespace shoal::train
