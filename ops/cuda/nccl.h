#pragma once
// The NCCL part of the plug-in's table (plugin.h says what the functions do). Defined in
// dist/nccl.cpp.

#include <cstdint>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace shoal::cuda {

c10d::Backend* make_nccl(c10d::Store* store, int rank, int size, int device, int64_t timeout_ms,
                         const char* group_name);
void shutdown_nccl(c10d::Backend* backend);

}  // namespace shoal::cuda
