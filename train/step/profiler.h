#pragma once
// Records a trace with LibTorch's profiler: operations, the parts marked by trace::Scope and, on a
// GPU, kernels.

#include <functional>
#include <string>

namespace shoal::train {

// Runs `work` and writes its trace to `file`, as JSON that ui.perfetto.dev and chrome://tracing
// open. `gpu`: also records CUDA kernels. Throws std::runtime_error if the file cannot be written.
void write_trace(const std::string& file, bool gpu, const std::function<void()>& work);

}  // namespace shoal::train
