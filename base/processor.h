#pragma once
// Instruction sets that vector loops are compiled for and this processor has. Files of such loops
// may include this header: it holds nothing that the linker could share between instruction sets.

namespace shoal {

struct Processor {
  bool sse42;
  bool avx2;    // AVX2 with FMA, F16C, BMI1 and BMI2, as on every processor since Haswell and Zen
  bool avx512;  // in addition F, BW, VL, VBMI, VBMI2 and VNNI
};

// The same at every call. Any thread. All false where the architecture is not x86-64.
const Processor& processor();

}  // namespace shoal
