#pragma once
// Macros for code that CUDA compilers compile for a GPU, and other compilers for the CPU.

#ifdef __CUDACC__
#define SHOAL_BOTH __host__ __device__  // runs on the CPU and on a GPU
#define SHOAL_DEVICE __device__         // runs only on a GPU
#define SHOAL_UNROLL _Pragma("unroll")  // unrolls the following loop
#else
#define SHOAL_BOTH
#define SHOAL_DEVICE
#define SHOAL_UNROLL
#endif
