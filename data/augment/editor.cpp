#include "data/augment/editor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/augment/affine.h"
#include "data/augment/hue.h"
#include "data/augment/tables.h"

namespace shoal::data::augment {
namespace {

LevelMap map_of(const Operation& operation) {
  const double amount = operation.amount;
  switch (operation.effect) {
    case Effect::posterize: {
      const int kept = std::clamp(static_cast<int>(amount), 0, 8);
      return {static_cast<uint8_t>(~((1 << (8 - kept)) - 1)), 256, 0, 0};
    }
    case Effect::solarize:
      return {255, static_cast<int32_t>(std::ceil(std::clamp(amount, 0.0, 256.0))), 0, 255};
    case Effect::solarize_add:
      return {255, 128, static_cast<uint8_t>(std::clamp(amount, 0.0, 255.0)), 0};
    default:  // invert
      return {255, 0, 0, 255};
  }
}

int64_t area(const Size& size) {
  return size.width * size.height;
}

}  // namespace

Editor::Editor(Isa isa) : kernels_(kernels(isa)), sums_(planar_kernels(isa)) {}

void Editor::apply(const Operation& operation, uint8_t* pixels, const Size& size) {
  const double amount = operation.amount;
  switch (operation.effect) {
    case Effect::identity:
      return;
    case Effect::auto_contrast:
      return look_up(auto_contrast_tables(histogram_of(pixels, area(size))), pixels, area(size));
    case Effect::equalize:
      return look_up(equalize_tables(histogram_of(pixels, area(size))), pixels, area(size));
    case Effect::invert:
    case Effect::posterize:
    case Effect::solarize:
    case Effect::solarize_add:
      return kernels_.map(map_of(operation), 3 * area(size), pixels);
    case Effect::brightness:
      return kernels_.stretch(0, static_cast<float>(amount), 3 * area(size), pixels);
    case Effect::contrast:
      return contrast(amount, pixels, size);
    case Effect::color:
      return color(amount, pixels, size);
    case Effect::sharpness:
      return sharpness(amount, pixels, size);
    case Effect::hue:
      return shift_hue(amount, pixels, area(size));
    case Effect::grayscale:
      return kernels_.gray(pixels, area(size), pixels);
    case Effect::shear_x:
    case Effect::shear_y:
    case Effect::translate_x:
    case Effect::translate_y:
    case Effect::rotate:
      return transform(operation, kernels_, sums_, pixels, size, bordered_, scratch_);
    case Effect::box_blur:
      return box_blur(amount, pixels, size);
    case Effect::gaussian_blur:
      return gaussian_blur(amount, pixels, size);
  }
}

void Editor::blend(uint8_t* pixels, const uint8_t* other, double share, const Size& size) {
  kernels_.blend(pixels, other, static_cast<float>(share), 3 * area(size), pixels);
}

void Editor::color(double factor, uint8_t* pixels, const Size& size) {
  scratch_.resize(static_cast<size_t>(3 * area(size)));
  kernels_.gray(pixels, area(size), scratch_.data());
  kernels_.blend(scratch_.data(), pixels, static_cast<float>(factor), 3 * area(size), pixels);
}

void Editor::contrast(double factor, uint8_t* pixels, const Size& size) {
  scratch_.resize(static_cast<size_t>(3 * area(size)));
  kernels_.gray(pixels, area(size), scratch_.data());
  uint64_t sum = 0;  // over all three channels, which hold the same values
  for (const uint8_t luma : scratch_) sum += luma;
  sum /= 3;
  const double mean = static_cast<double>(sum) / static_cast<double>(area(size));
  kernels_.stretch(static_cast<uint8_t>(mean + 0.5), static_cast<float>(factor), 3 * area(size),
                   pixels);
}

// Like Pillow, does not smooth the first and last row and column.
void Editor::sharpness(double factor, uint8_t* pixels, const Size& size) {
  const int64_t row = 3 * size.width;
  scratch_.assign(pixels, pixels + row * size.height);
  for (int64_t y = 1; y + 1 < size.height && size.width > 2; ++y)
    kernels_.smooth(pixels + y * row + 3, row, row - 6, scratch_.data() + y * row + 3);
  kernels_.blend(scratch_.data(), pixels, static_cast<float>(factor), row * size.height, pixels);
}

// Applies three horizontal box filters, then three vertical ones (Gwosdek and others, "Theoretical
// foundations of Gaussian convolution by extended box filtering", 2011). Rounds like Pillow.
void Editor::box_blur(double deviation, uint8_t* pixels, const Size& size) {
  constexpr int kPasses = 3;
  const auto wanted = static_cast<float>(deviation);
  const float square = wanted * wanted / kPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * square + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * square);
  part /= 6 * (square - (whole + 1) * (whole + 1));
  const float radius = whole + part;
  BoxRow box{};
  box.radius = static_cast<int32_t>(radius);
  box.inner = static_cast<uint32_t>((1 << 24) / (radius * 2 + 1));
  box.outer = ((1U << 24) - static_cast<uint32_t>(2 * box.radius + 1) * box.inner) / 2;
  const int64_t row = 3 * size.width;
  for (int pass = 0; pass < 2 * kPasses; ++pass) {
    const bool across = pass < kPasses;
    bordered_.copy(pixels, size, across ? box.radius + 1 : 0, across ? 0 : box.radius + 1);
    box.step = across ? 3 : bordered_.stride();
    box.bytes = row;
    for (int64_t y = 0; y < size.height; ++y) {
      box.in = bordered_.origin() + y * bordered_.stride();
      box.out = pixels + y * row;
      kernels_.box(box);
    }
  }
}

}  // namespace shoal::data::augment
