#pragma once
// CUDA graphs of the plug-in. plugin.h describes these functions.

namespace shoal::cuda {

struct Graph;

Graph* record(void (*body)(void* context), void* context, int warm_ups);
void replay(Graph* graph);
void destroy(Graph* graph);

}  // namespace shoal::cuda
