#include "data/isa.h"

#include "base/processor.h"

namespace shoal::data {
bool supported(Isa isa) {
  return isa == Isa::portable || (isa == Isa::avx2 ? processor().avx2 : processor().avx512);
}

Isa best_isa() {
  static const Isa best = supported(Isa::avx512) ? Isa::avx512
                          : supported(Isa::avx2) ? Isa::avx2
                                                 : Isa::portable;
  return best;
}

}  // namespace shoal::data
