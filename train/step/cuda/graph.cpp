#include "train/step/cuda/graph.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <memory>

namespace shoal::cuda {

struct Graph {
  at::cuda::CUDAGraph graph;
};

Graph* record(void (*body)(void* context), void* context, int warm_ups) {
  const auto before = at::cuda::getCurrentCUDAStream();
  const auto stream = at::cuda::getStreamFromPool();
  before.synchronize();
  auto result = std::make_unique<Graph>();
  {
    const c10::cuda::CUDAStreamGuard on(stream);  // the default stream cannot be captured
    for (int i = 0; i < warm_ups; ++i) body(context);
    stream.synchronize();
    // Frees the memory that the warm-ups used. Otherwise it would stay reserved for this stream,
    // and the graph would allocate the same amount again.
    c10::cuda::CUDACachingAllocator::emptyCache();
    // In this mode, other threads (the loader's, NCCL's watchdog) may call CUDA during the capture.
    result->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      body(context);
    } catch (...) {
      try {
        result->graph.capture_end();
      } catch (const std::exception&) {  // ignored: the first error is the one to report
      }
      throw;
    }
    result->graph.capture_end();
  }
  return result.release();
}

void replay(Graph* graph) {
  graph->graph.replay();
}

void destroy(Graph* graph) {
  delete graph;
}

}  // namespace shoal::cuda
