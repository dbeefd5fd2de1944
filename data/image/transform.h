#pragma once
// From encoded bytes to the pixels of one row: decode, crop, resize, flip in one go.

#include <cstdint>
#include <span>

#include "data/augment/augmenter.h"
#include "data/data_options.h"
#include "data/image/image_reader.h"
#include "data/image/planar_resampler.h"
#include "data/image/resample.h"

namespace shoal::data {

// One object per thread; it keeps its buffers. Throws DamagedImage.
class Transform {
 public:
  explicit Transform(const TransformOptions& options, Isa isa = best_isa())
      : options_(options),
        augmenter_(options.augment, options.interpolation, isa),
        reader_(options.decoder, isa),
        resizer_(isa),
        planar_(isa) {}

  // From the next training row on: side of the output in pixels (options.size at the start), and
  // Augmenter::set_strength().
  void set(int64_t side, double strength) {
    options_.size = side;
    augmenter_.set_strength(strength);
  }

  // RandomResizedCrop, horizontal flip and augmentation drawn from `key`; writes side² × 3
  // bytes, RGB. `index` (may be null): of these bytes, used and extended where they are a JPEG.
  void training_row(std::span<const uint8_t> bytes, uint64_t key, uint8_t* out,
                    jpeg::SeekIndex* index = nullptr);

  // Extends the index of the image just read to all of it; false when it has none.
  bool complete_index(jpeg::SeekIndex& index) { return reader_.complete_index(index); }

  // Resize and centre crop; writes options.eval_size² × 3 bytes, RGB, for each of the views, of
  // which one and its mirror image follow each other. Also what `shoal predict` shows the model.
  void evaluation_row(std::span<const uint8_t> bytes, uint8_t* out);

 private:
  void view(const Size& image, int64_t corner, bool mirror, uint8_t* out);
  void run(const Box& box, const AxisRequest& x, const AxisRequest& y, Interpolation interpolation,
           uint8_t* out, int64_t stride, jpeg::SeekIndex* index);

  TransformOptions options_;
  augment::Augmenter augmenter_;
  ImageReader reader_;
  Resizer resizer_;
  PlanarResampler planar_;
};

// Throws std::invalid_argument with a sentence for settings that make no sense.
void check_transform(const TransformOptions& options);

}  // namespace shoal::data
