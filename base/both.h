#pragma once
// Marks functions that run on the CPU and, when compiled by a CUDA compiler, also on a GPU.

#ifdef __CUDACC__
#define SHOAL_BOTH __host__ __device__
#else
#define SHOAL_BOTH
#endif
