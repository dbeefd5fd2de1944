#pragma once
// Functions of the plug-in for CUDA graphs; plugin.h describes them (struct Plugin). Training does
// not use them; bench/gpu does.

namespace shoal::cuda {

struct Graph;

Graph* record(void (*body)(void* context), void* context, int warm_ups);
void replay(Graph* graph);
void destroy(Graph* graph);

}  // namespace shoal::cuda
