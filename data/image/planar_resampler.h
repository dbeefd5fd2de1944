#pragma once
// The fast resize (--resize fast) for JPEG. Resizes the luma and chroma planes without upsampling
// chroma, and converts only the result to RGB. The filter weights for chroma include the smooth
// upsampling.
//
// Uses the antialiasing filter of resample.h, but with 14 instead of 22 fractional bits, with the
// vertical pass always first, and with clamping in YCbCr instead of RGB. For photographs, the PSNR
// relative to the exact resize is at least 50 dB on average and 45 dB at worst. Gives the same bits
// on every processor. tests/data/image/planar_resampler_test.cpp checks both guarantees.

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

  // Resizes with the weights of `x` and `y`, whose source coordinates are relative to the pixel
  // (left, top) of the image. Writes one RGB row per output pixel of `y`; rows are `stride` bytes
  // apart. `planes` must contain the JPEG blocks (MCUs) that mcus_of() in jpeg/planes.h returns for
  // the box of source pixels.
  void run(jpeg::Planes& planes, int64_t left, int64_t top, const Axis& x, const Axis& y,
           uint8_t* out, int64_t stride);

 private:
  // Weights of one direction for the samples of one plane.
  struct Direction {
    int64_t first = 0, count = 0;  // reads the samples [first, first + count)
    int32_t taps = 0;
    std::vector<int32_t> starts;   // per output sample: first input sample, relative to `first`
    std::vector<int16_t> weights;  // `taps` for each output sample

    void build(const Axis& axis, int64_t offset, bool halved, int64_t samples);

   private:
    std::vector<int32_t> sums_;  // weights of one output sample, before rounding
  };
  void resize(jpeg::Planes& planes, int component, const Direction& x, const Direction& y,
              std::vector<uint8_t>& out);

  const PlanarKernels& kernels_;
  const jpeg::Kernels& colors_;
  Direction luma_[2], chroma_[2];  // x, y
  std::vector<uint8_t> middle_, turned_, columns_;
  std::vector<uint8_t> planes_[3];
  std::vector<uint8_t> row_;
};

}  // namespace shoal::data
