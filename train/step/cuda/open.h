#pragma once
// Opens the CUDA plug-in, the one library that links libtorch_cuda.

#include <string>

#include "train/step/cuda/plugin.h"

namespace shoal::train {

// The plug-in's table. Opened at the first call, from `directory` or, when empty, from the first of
// these that has it: the directory of the running program, ../lib, ../lib/shoal and .. as seen from
// there. Call before anything asks LibTorch whether there is CUDA: LibTorch remembers the first
// answer. Throws std::runtime_error with a sentence that says what is missing (the plug-in, a
// library of the CUDA closure, a plug-in of another build) and what to do. Thread-safe; later calls
// return the same table.
const cuda::Plugin& cuda_plugin(const std::string& directory = "");

// True once cuda_plugin() has succeeded in this process. Opens nothing.
bool cuda_plugin_loaded();

}  // namespace shoal::train
