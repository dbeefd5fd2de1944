#pragma once
// Which instruction set the inner loops of this folder use. All of them give the same bits. The
// files of those loops include this one, so it holds nothing that the linker could share.

namespace shoal::data {

enum class Isa {
  portable,
  avx2,    // with FMA, BMI1 and BMI2
  avx512,  // F, BW, VL, VBMI, VBMI2 and VNNI; loops that gain less than a tenth stay avx2's
};
constexpr Isa kIsas[] = {Isa::portable, Isa::avx2, Isa::avx512};  // the best last

bool supported(Isa isa);  // by this processor
Isa best_isa();           // of those that are

}  // namespace shoal::data
