#include "data/loader/transform.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/grow.h"
#include "data/image/crop.h"
#include "data/random.h"
#include "data/stage_clock.h"

namespace shoal::data {
namespace {

Interpolation filter_of(Interpolation asked, uint64_t key) {
  if (asked != Interpolation::random) return asked;
  KeyedRandom random(combine(key, static_cast<uint64_t>(Purpose::filter)));
  return random.uniform() < 0.5 ? Interpolation::bilinear : Interpolation::bicubic;
}

// Uses a separate key, so that `probability` does not affect other draws.
bool flips_vertically(double probability, uint64_t key) {
  KeyedRandom random(combine(key, static_cast<uint64_t>(Purpose::vertical_flip)));
  return random.uniform() < probability;
}

// Reverses the order of the rows.
void flip_rows(uint8_t* pixels, int64_t row_bytes, int64_t rows) {
  for (int64_t y = 0; y < rows / 2; ++y)
    std::swap_ranges(pixels + y * row_bytes, pixels + (y + 1) * row_bytes,
                     pixels + (rows - 1 - y) * row_bytes);
}

}  // namespace

void Transform::training_row(std::span<const uint8_t> bytes, uint64_t key, uint8_t* out,
                             jpeg::SeekIndex* index) {
  const Size image = reader_.open(bytes);
  KeyedRandom random(combine(key, static_cast<uint64_t>(Purpose::crop)));
  const bool flip = random.uniform() < options_.hflip;
  const Box crop = random_resized_crop(image, options_, random);
  const int64_t side = options_.size;
  uint8_t* const pixels = rgb(side, out);
  run(crop, {crop.width, side, 0, side, flip}, {crop.height, side, 0, side, false},
      filter_of(options_.interpolation, key), pixels, 3 * side, index);
  if (flips_vertically(options_.vflip, key)) flip_rows(pixels, 3 * side, side);
  augmenter_.apply(key, pixels, {side, side});
  finish(pixels, side, out);
  lap(Stage::augment);
}

// Returns the buffer for a square RGB image of `side` pixels: gray_image_ if the output is gray,
// otherwise `out`.
uint8_t* Transform::rgb(int64_t side, uint8_t* out) {
  if (!gray()) return out;
  gray_image_.resize(static_cast<size_t>(3 * side * side));
  return gray_image_.data();
}

// If the output is gray, copies one of the three equal channels of `pixels` to `out`.
void Transform::finish(const uint8_t* pixels, int64_t side, uint8_t* out) const {
  if (!gray()) return;
  for (int64_t i = 0; i < side * side; ++i) out[i] = pixels[3 * i];
}

void Transform::evaluation_row(std::span<const uint8_t> bytes, uint8_t* out) {
  const Views views = options_.eval_views;
  const bool corners = views == Views::five || views == Views::ten;
  const bool mirrored = views == Views::flip || views == Views::ten;
  for (int64_t corner = 0; corner < (corners ? 5 : 1); ++corner) {
    for (const bool mirror : {false, true}) {
      if (mirror && !mirrored) continue;
      view(reader_.open(bytes), corner, mirror, out);
      out += options_.eval_size * options_.eval_size * options_.channels;
    }
  }
}

void Transform::view(const Size& image, int64_t corner, bool mirror, uint8_t* out) {
  const CenterView view = center_view(image, options_, corner);
  const int64_t side = options_.eval_size;
  uint8_t* const pixels = rgb(side, out);
  if (view.crop.width < side || view.crop.height < side)
    std::memset(pixels, 0, static_cast<size_t>(side * side * 3));
  const int64_t left = mirror ? side - view.left - view.crop.width : view.left;
  run({0, 0, image.width, image.height},
      {image.width, view.resized.width, view.crop.left, view.crop.width, mirror},
      {image.height, view.resized.height, view.crop.top, view.crop.height, false},
      options_.interpolation, pixels + 3 * (view.top * side + left), 3 * side, nullptr);
  finish(pixels, side, out);
}

// Decodes and resizes the part of `box` that the filter needs.
void Transform::run(const Box& box, const AxisRequest& x, const AxisRequest& y,
                    Interpolation interpolation, uint8_t* out, int64_t stride,
                    jpeg::SeekIndex* index) {
  resizer_.begin(x, y, interpolation);
  Box needed = resizer_.needed();
  needed.left += box.left;
  needed.top += box.top;
  reader_.start(needed, resizer_.padding(), index);
  jpeg::Planes* const planes = reader_.planes();
  lap(planes ? Stage::entropy : Stage::library);
  if (planes && options_.resize == Resize::fast) {
    planar_.run(*planes, box.left, box.top, resizer_.x(), resizer_.y(), out, stride);
    for (int64_t row = 0; gray() && row < y.count; ++row)
      kernels_.gray(out + row * stride, x.count, out + row * stride);
  } else {
    const Stage source = planes ? Stage::resize : Stage::library;
    for (RowBlock rows = reader_.next(); rows.count > 0; rows = reader_.next()) {
      lap(source);
      if (gray())
        push_gray(rows, needed.width);
      else
        resizer_.push(rows);
      lap(Stage::resize);
    }
    resizer_.finish(out, stride);
  }
  lap(Stage::resize);
}

// Passes rows of `width` pixels to the resizer, converted to gray.
void Transform::push_gray(const RowBlock& rows, int64_t width) {
  const int64_t stride = 3 * width;
  const auto bytes = static_cast<size_t>(rows.count * stride + resizer_.padding());
  grow(gray_rows_, bytes);
  for (int64_t row = 0; row < rows.count; ++row)
    kernels_.gray(rows.data + row * rows.stride, width, gray_rows_.data() + row * stride);
  resizer_.push({gray_rows_.data(), stride, rows.count});
}

void check_transform(const TransformOptions& o) {
  constexpr int64_t kMaxSide = 8192;
  require_valid(o.size >= 1 && o.size <= kMaxSide,
                "the input size must be between 1 and 8192 pixels");
  require_valid(o.eval_size >= 1 && o.eval_size <= kMaxSide && o.eval_resize >= 1 &&
                    o.eval_resize <= kMaxSide,
                "evaluation sizes must be between 1 and 8192 pixels");
  require_valid(o.scale_min > 0 && o.scale_min <= o.scale_max && o.scale_max <= 1,
                "the crop's fraction of the image area must be a range within (0, 1]");
  require_valid(o.ratio_min > 0 && o.ratio_min <= o.ratio_max,
                "the crop's aspect ratio must be a range of positive numbers");
  require_valid(o.decoder == Decoder::shoal || o.resize == Resize::exact,
                "the fast resize needs the decoder 'shoal'");
  require_valid(o.hflip >= 0 && o.hflip <= 1 && o.vflip >= 0 && o.vflip <= 1,
                "the probability of a flip must be between 0 and 1");
  require_valid(o.channels == 1 || o.channels == 3, "an image must have 1 or 3 channels");
  augment::check_augment(o.augment);
}

}  // namespace shoal::data
