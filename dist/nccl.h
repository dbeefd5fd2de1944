#pragma once
// The NCCL transport as function pointers from the CUDA plug-in. This folder links no CUDA library.

#include <cstdint>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace shoal::dist {

struct NcclFunctions {
  // Returns a connected NCCL backend for `size` ranks on `device`. Collective over the ranks that
  // use `store`. The result holds one intrusive reference, which the caller owns. `store` stays the
  // caller's; the backend keeps its own reference. `timeout_ms` limits each collective. Throws
  // std::runtime_error if connecting fails.
  c10d::Backend* (*make)(c10d::Store* store, int rank, int size, int device, int64_t timeout_ms,
                         const char* group_name);
  // Waits for the device's work and closes the communicator. Call once per backend before its last
  // reference is released, because the destructor would abort the communicator instead. Throws
  // std::runtime_error if the device's work failed.
  void (*shutdown)(c10d::Backend* backend);
};

// Defined in nccl.cpp, which is compiled only into the plug-in.
NcclFunctions nccl_functions();

}  // namespace shoal::dist
