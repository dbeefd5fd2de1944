#pragma once
// Instruction sets of this processor that vector loops are compiled for. Files of such loops may
// include this header: it has no templates or inline functions, which the linker would share
// between instruction sets.

namespace shoal {

struct Processor {
  bool sse42;
  bool avx2;    // AVX2 with FMA, F16C, BMI1 and BMI2, as on every processor since Haswell and Zen
  bool avx512;  // in addition F, BW, VL, VBMI, VBMI2 and VNNI
};

// The same at every call. Any thread. All false where the architecture is not x86-64.
const Processor& processor();

}  // namespace shoal
