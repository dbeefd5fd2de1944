#pragma once
// The NCCL transport, as functions that the CUDA plug-in hands in: this folder links no CUDA
// library.

#include <cstdint>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace shoal::dist {

struct NcclFunctions {
  // A connected NCCL backend of `size` ranks on `device`. Collective over the ranks of the store.
  // The caller owns the returned reference (an intrusive pointer's). `store` is borrowed for the
  // call; the backend keeps its own reference. Throws std::runtime_error.
  c10d::Backend* (*make)(c10d::Store* store, int rank, int size, int device, int64_t timeout_ms,
                         const char* group_name);
  // Waits for the device's work and closes the communicator in order. Call once per backend, before
  // the last reference goes: its destructor would abort instead.
  void (*shutdown)(c10d::Backend* backend);
};

// Defined in nccl.cpp, which is compiled into the plug-in alone.
NcclFunctions nccl_functions();

}  // namespace shoal::dist
