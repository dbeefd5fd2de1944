#pragma once
// Detects the vector instruction sets of this processor, as far as shoal has code for them. Files
// compiled for one instruction set include this header. So it must not contain templates or inline
// functions: the linker keeps one copy of each, which may use instructions that the processor
// lacks.

namespace shoal {

struct Processor {
  bool sse42;
  bool avx2;    // AVX2 with FMA, F16C, BMI1 and BMI2, as on every processor since Haswell and Zen
  bool avx512;  // avx2, and AVX-512 F, BW, VL, VBMI, VBMI2 and VNNI
  bool avx512_bf16;  // avx512, and AVX-512 BF16
};

// Detected at the first call. Thread-safe. All false on architectures other than x86-64.
const Processor& processor();

// Makes processor() report no AVX-512, for measurements. Call before anything else calls
// processor().
void hold_to_avx2();

}  // namespace shoal
