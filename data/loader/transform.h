#pragma once
// Turns encoded bytes into the pixels of one batch row: decodes, converts to gray if asked, crops,
// resizes, flips and augments.

#include <cstdint>
#include <span>
#include <vector>

#include "data/augment/augmenter.h"
#include "data/augment/kernels.h"
#include "data/data_options.h"
#include "data/image/image_reader.h"
#include "data/image/planar_resampler.h"
#include "data/image/resample.h"

namespace shoal::data {

// Use one object per thread; it reuses its buffers. training_row() and evaluation_row() throw
// DamagedImage, and MissingLibrary (image/formats.h).
class Transform {
 public:
  explicit Transform(const TransformOptions& options, Isa isa = best_isa())
      : options_(options),
        augmenter_(options.augment, options.interpolation, isa, options.normalization.mean),
        kernels_(augment::kernels(isa)),
        reader_(options.decoder, isa),
        resizer_(isa),
        planar_(isa) {}

  // Sets the side of the output in pixels (initially options.size) and the augmentation strength
  // (Augmenter::set_strength()) for all later training rows.
  void set(int64_t side, double strength) {
    options_.size = side;
    augmenter_.set_strength(strength);
  }

  // Makes a training row: RandomResizedCrop, flips and augmentation, drawn from `key`. Writes
  // side² × options.channels bytes. `index` (may be null): the seek index of this image; used and
  // extended if the image is a JPEG.
  void training_row(std::span<const uint8_t> bytes, uint64_t key, uint8_t* out,
                    jpeg::SeekIndex* index = nullptr);

  // Extends the seek index of the last image to the whole image. Returns false if the image cannot
  // have a seek index, or if it is damaged; then `index` may be empty.
  bool complete_index(jpeg::SeekIndex& index) { return reader_.complete_index(index); }

  // Makes an evaluation row: resizes the image and takes the crops of options.eval_views. Writes
  // options.eval_size² × options.channels bytes for each crop or mirror image; a mirror image
  // follows its crop. Also used by `shoal predict`.
  void evaluation_row(std::span<const uint8_t> bytes, uint8_t* out);

 private:
  void view(const Size& image, int64_t corner, bool mirror, uint8_t* out);
  void run(const Box& box, const AxisRequest& x, const AxisRequest& y, Interpolation interpolation,
           uint8_t* out, int64_t stride, jpeg::SeekIndex* index);
  void push_gray(const RowBlock& rows, int64_t width);
  bool gray() const { return options_.channels == 1; }
  uint8_t* rgb(int64_t side, uint8_t* out);
  void finish(const uint8_t* pixels, int64_t side, uint8_t* out) const;

  TransformOptions options_;
  augment::Augmenter augmenter_;
  const augment::Kernels& kernels_;
  ImageReader reader_;
  Resizer resizer_;
  PlanarResampler planar_;
  // For gray output. gray_rows_: decoded rows; gray_image_: the resized image. Both are RGB with
  // three equal channels.
  std::vector<uint8_t> gray_rows_, gray_image_;
};

// Throws std::invalid_argument if an option is invalid.
void check_transform(const TransformOptions& options);

}  // namespace shoal::data
