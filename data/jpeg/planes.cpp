#include "data/jpeg/planes.h"

#include <algorithm>

#include "base/grow.h"

namespace shoal::data::jpeg {
namespace {

constexpr int64_t kPadding = 64;  // kernels may access this many bytes before and after a row

}  // namespace

McuBox mcus_of(const Header& header, const Box& box) {
  const int64_t width = header.mcu_width(), height = header.mcu_height();
  const int64_t across = header.horizontal > 1 ? 2 : 0, down = header.vertical > 1 ? 2 : 0;
  return {std::max<int64_t>(0, box.left - across) / width,
          std::min(header.mcu_columns(), (box.left + box.width + across + width - 1) / width),
          std::max<int64_t>(0, box.top - down) / height,
          std::min(header.mcu_rows(), (box.top + box.height + down + height - 1) / height)};
}

uint8_t* Planes::Plane::at(int64_t x, int64_t y) {
  return samples.data() + kPadding + (y - top) * stride + (x - left);
}

void Planes::begin(const Header& header, const McuBox& mcus) {
  header_ = &header;
  mcus_ = mcus;
  for (int i = 0; i < header.count; ++i) {
    const Component& component = header.components[i];
    Plane& plane = planes_[i];
    const int64_t width = (mcus.column_end - mcus.column) * 8 * component.horizontal;
    const int64_t height = (mcus.row_end - mcus.row) * 8 * component.vertical;
    plane.stride = (width + 2 * kPadding) / kPadding * kPadding;
    plane.left = mcus.column * 8 * component.horizontal;
    plane.top = mcus.row * 8 * component.vertical;
    // Allocates one extra row, because filters read rows in pairs.
    grow(plane.samples, plane.stride * (height + 1) + 2 * kPadding);
    std::copy_n(header.quantization[component.quantization], 64, plane.quantization);
  }
}

void Planes::add(int64_t mcu_row, int64_t column, int64_t count, const int16_t* coefficients) {
  for (int i = 0; i < header_->count; ++i) {
    const Component& component = header_->components[i];
    Plane& plane = planes_[i];
    BlockRow row{};
    row.coefficients = coefficients;
    row.mcu_step = 64 * header_->blocks_per_mcu();
    row.mcus = count;
    row.horizontal = component.horizontal;
    row.vertical = component.vertical;
    row.quantization = plane.quantization;
    row.out = plane.at(column * 8 * component.horizontal, mcu_row * 8 * component.vertical);
    row.stride = plane.stride;
    kernels_.transform(row);
    coefficients += 64 * component.horizontal * component.vertical;
  }
}

// Repeats the chroma samples at the left and right edges of the image, for the upsampling.
// (chroma_row() repeats those at the top and bottom.)
void Planes::finish() {
  if (header_->horizontal == 1) return;
  const int64_t width = (header_->size.width + 1) / 2;
  for (int i = 1; i < header_->count; ++i) {
    Plane& plane = planes_[i];
    const int64_t rows = (mcus_.row_end - mcus_.row) * 8;
    const bool right = mcus_.column_end == header_->mcu_columns();
    for (int64_t y = plane.top; y < plane.top + rows; ++y) {
      if (plane.left == 0) *plane.at(-1, y) = *plane.at(0, y);
      if (right) *plane.at(width, y) = *plane.at(width - 1, y);
    }
  }
}

Planes::View Planes::view(int component) {
  Plane& plane = planes_[component];
  return {plane.at(plane.left, plane.top), plane.stride, plane.left, plane.top};
}

// Returns the chroma samples for `count` luma pixels, from (x, y) to the right. If chroma has half
// the width, upsamples it into `wide`.
const uint8_t* Planes::chroma_row(Plane& plane, int64_t x, int64_t y, int64_t count,
                                  std::vector<uint8_t>& wide) {
  if (header_->horizontal == 1) return plane.at(x, y);
  const int64_t first = x / 2, samples = (x + count - 1) / 2 - first + 1;
  const bool halved = header_->vertical == 2;
  const int64_t row = halved ? y / 2 : y;
  const uint8_t* far = nullptr;
  if (halved) {
    const int64_t last = (header_->size.height + 1) / 2 - 1;
    far = plane.at(first, std::clamp<int64_t>(y % 2 == 0 ? row - 1 : row + 1, 0, last));
  }
  grow(wide, 2 * samples + kPadding);
  kernels_.upsample(plane.at(first, row), far, wide.data(), samples);
  return wide.data() + (x - 2 * first);
}

void Planes::rgb_row(int64_t x, int64_t y, int64_t count, uint8_t* out) {
  const uint8_t* luma = planes_[0].at(x, y);
  if (header_->count == 1) return kernels_.gray_to_rgb(luma, out, count);
  const uint8_t* blue = chroma_row(planes_[1], x, y, count, wide_[0]);
  const uint8_t* red = chroma_row(planes_[2], x, y, count, wide_[1]);
  kernels_.to_rgb(luma, blue, red, out, count);
}

}  // namespace shoal::data::jpeg
