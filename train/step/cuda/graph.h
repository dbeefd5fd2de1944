#pragma once
// The plug-in's functions for CUDA graphs; struct Plugin in plugin.h describes them. Training does
// not use them; bench/gpu does.

namespace shoal::cuda {

struct Graph;

Graph* record(void (*body)(void* context), void* context, int warm_ups);
void replay(Graph* graph);
void destroy(Graph* graph);

}  // namespace shoal::cuda
