#pragma once
// Traces some work with LibTorch's profiler: its operations, the parts marked by trace::Scope and,
// on a GPU, its kernels.

#include <functional>
#include <string>

namespace shoal::train {

// Runs `work` and writes its trace to `file`, as JSON that ui.perfetto.dev and chrome://tracing
// open. `gpu`: also records CUDA kernels. Throws std::runtime_error if the file cannot be written.
void write_trace(const std::string& file, bool gpu, const std::function<void()>& work);

}  // namespace shoal::train
