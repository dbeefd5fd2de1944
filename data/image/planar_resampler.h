#pragma once
// The fast way from a decoded JPEG to a row of a batch: luma and chroma are resized as they are in
// the file, with the smooth upsampling of chroma folded into the filter's weights, and only the
// pixels of the result become RGB.
//
// Antialiased with the same filter as resample.h, in 14 instead of 22 fractional bits, vertical
// pass first, clamped in YCbCr: against the exact way at least 50 dB on average and 45 dB at worst
// for photographs (bench/loader measures it). Same bits on every processor.

#include <cstdint>
#include <vector>

#include "data/image/planar_kernels.h"
#include "data/image/resample.h"
#include "data/isa.h"
#include "data/jpeg/planes.h"

namespace shoal::data {

// One object per thread; it keeps its memory.
class PlanarResampler {
 public:
  explicit PlanarResampler(Isa isa = best_isa());

  // Resizes with the weights of `x` and `y`, which count from (left, top) of the image on, and
  // writes RGB rows `stride` bytes apart. `planes` holds what mcus_of() names for the pixels that
  // the weights look at.
  void run(jpeg::Planes& planes, int64_t left, int64_t top, const Axis& x, const Axis& y,
           uint8_t* out, int64_t stride);

 private:
  // The weights of one direction over the samples of one plane.
  struct Direction {
    int64_t first = 0, count = 0;  // samples that are looked at
    int32_t taps = 0;
    std::vector<int32_t> starts;   // relative to `first`
    std::vector<int16_t> weights;  // taps each

    void build(const Axis& axis, int64_t offset, bool halved, int64_t samples);

   private:
    std::vector<int32_t> sums_;  // taps, of one output
  };
  void resize(jpeg::Planes& planes, int component, const Direction& x, const Direction& y,
              std::vector<uint8_t>& out);

  const PlanarKernels& kernels_;
  const jpeg::Kernels& colours_;
  Direction luma_[2], chroma_[2];  // x, y
  std::vector<uint8_t> middle_, turned_, columns_;
  std::vector<uint8_t> planes_[3];
  std::vector<uint8_t> row_;
};

}  // namespace shoal::data
