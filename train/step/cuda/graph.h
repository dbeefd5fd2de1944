#pragma once
// Graphs of the CUDA plug-in; see plugin.h.

namespace shoal::cuda {

struct Graph;

Graph* record(void (*body)(void* context), void* context, int warm_ups);
void replay(Graph* graph);
void destroy(Graph* graph);

}  // namespace shoal::cuda
