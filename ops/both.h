#pragma once
// Marks functions that run on the host and, where a CUDA compiler reads them, on a GPU as well.

#ifdef __CUDACC__
#define SHOAL_BOTH __host__ __device__
#else
#define SHOAL_BOTH
#endif
