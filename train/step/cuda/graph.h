#pragma once
// CUDA graphs of the plug-in. Plugin in plugin.h documents these functions. Training does not use
// them; bench/gpu does.

namespace shoal::cuda {

struct Graph;

Graph* record(void (*body)(void* context), void* context, int warm_ups);
void replay(Graph* graph);
void destroy(Graph* graph);

}  // namespace shoal::cuda
