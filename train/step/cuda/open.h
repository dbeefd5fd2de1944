#pragma once
// Opens the CUDA plug-in, the only library that links libtorch_cuda.

#include <string>

#include "train/step/cuda/plugin.h"

namespace shoal::train {

// Returns the plug-in's function table. The first call opens the plug-in in `directory`. If
// `directory` is empty, searches the running program's folder and then, relative to that folder,
// ../lib, ../lib/shoal and `..`. Later calls return the same table. Call it before anything asks
// LibTorch whether CUDA is available: LibTorch caches the answer. Throws std::runtime_error with
// one sentence that names what is missing (the plug-in, a CUDA library, or a matching build) and
// what to do. Thread-safe.
const cuda::Plugin& cuda_plugin(const std::string& directory = "");

}  // namespace shoal::train
