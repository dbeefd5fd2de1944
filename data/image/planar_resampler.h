#pragma once
// The fast resize (--resize fast) for JPEG: resizes the luma and chroma planes as stored, with the
// smooth upsampling of chroma folded into the filter weights, and converts only the result to RGB.
//
// Antialiased with the filter of resample.h, but with 14 instead of 22 fractional bits, the
// vertical pass first, and clamping in YCbCr. Photographs differ from the exact resize by at least
// 50 dB PSNR on average and 45 dB at worst (measured by bench/loader). The same bits on every
// processor.

#include <cstdint>
#include <vector>

#include "data/image/planar_kernels.h"
#include "data/image/resample.h"
#include "data/isa.h"
#include "data/jpeg/planes.h"

namespace shoal::data {

// Use one object per thread; it reuses its memory.
class PlanarResampler {
 public:
  explicit PlanarResampler(Isa isa = best_isa());

  // Resizes with the weights of `x` and `y`, whose coordinates are relative to (left, top) of the
  // image. Writes RGB rows `stride` bytes apart. `planes` must contain the MCUs that mcus_of()
  // returns for the source pixels of the weights.
  void run(jpeg::Planes& planes, int64_t left, int64_t top, const Axis& x, const Axis& y,
           uint8_t* out, int64_t stride);

 private:
  // Weights of one direction for the samples of one plane.
  struct Direction {
    int64_t first = 0, count = 0;  // samples that are read
    int32_t taps = 0;
    std::vector<int32_t> starts;   // relative to `first`
    std::vector<int16_t> weights;  // count × taps

    void build(const Axis& axis, int64_t offset, bool halved, int64_t samples);

   private:
    std::vector<int32_t> sums_;  // taps of one output sample
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
