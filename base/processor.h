#pragma once
// Detects which vector instruction sets this processor supports, among those that shoal uses. This
// header must not contain templates or inline functions, because files compiled for one instruction
// set may include it: the linker keeps one copy of such a function for the whole program, possibly
// one with instructions that the processor lacks.

namespace shoal {

struct Processor {
  bool avx2;         // AVX2 with FMA, BMI1 and BMI2, as on Intel Haswell and AMD Zen
  bool avx512;       // avx2, and AVX-512 F, BW, VL, VBMI, VBMI2 and VNNI
  bool avx512_bf16;  // avx512, and AVX-512 BF16
};

// Runs the detection at the first call. Thread-safe. All fields are false on architectures other
// than x86-64.
const Processor& processor();

// Makes processor() report no AVX-512. Call before anything else calls processor().
void hold_to_avx2();
// Makes processor() report no instruction set at all, so that portable code runs. Call before
// anything else calls processor().
void hold_to_portable();

}  // namespace shoal
