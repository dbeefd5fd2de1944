#pragma once
// Instruction sets of the inner loops in data/. All versions of a loop give the same bits. Files
// compiled for one instruction set include this header, so it must not contain templates or inline
// functions: the linker would keep one copy for all files, and the processor might not support it.

namespace shoal::data {

enum class Isa {
  portable,
  avx2,
  avx512,  // loops that would gain less than 10 % use their AVX2 version
};
constexpr Isa kIsas[] = {Isa::portable, Isa::avx2, Isa::avx512};  // best last

bool supported(Isa isa);  // whether this processor supports it; see base/processor.h
Isa best_isa();           // the best one that this processor supports

}  // namespace shoal::data
