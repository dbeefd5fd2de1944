#pragma once
// Instruction sets of the inner loops of this folder. All give the same bits. The files of these
// loops include this header, so it must not contain templates or inline functions: the linker would
// keep one copy for all.

namespace shoal::data {

enum class Isa {
  portable,
  avx2,
  avx512,  // loops that gain less than 10 % use those of avx2
};
constexpr Isa kIsas[] = {Isa::portable, Isa::avx2, Isa::avx512};  // best last

bool supported(Isa isa);  // by this processor; see base/processor.h
Isa best_isa();           // the best supported one

}  // namespace shoal::data
