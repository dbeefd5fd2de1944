#include "data/augment/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/grow.h"

namespace shoal::data::augment {
namespace {

// Rounds a sine or cosine to 15 decimals, as Pillow does, so that a quarter turn is exact.
double rounded(double x) {
  return std::nearbyint(x * 1e15) / 1e15;
}

Matrix rotation(double degrees, const Size& size) {
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360.0;
  const double angle = -turn * (std::numbers::pi / 180);
  const double c = rounded(std::cos(angle)), s = rounded(std::sin(angle));
  const double x = static_cast<double>(size.width) / 2, y = static_cast<double>(size.height) / 2;
  return {c, s, c * -x + s * -y + x, -s, c, -s * -x + c * -y + y};
}

// The columns [first, last) of one row. Their source positions are inside the image.
struct Span {
  int64_t first = 0, last = 0;
};

// Narrows `span` to the columns with 0 <= step * (column + 0.5) + rest < limit, plus a margin of
// two columns on each side.
void narrow(double step, double rest, int64_t limit, Span& span) {
  const double end = static_cast<double>(limit);
  if (std::abs(step) < 1e-9) {
    if (rest < -1 || rest > end + 1) span.last = span.first;
    return;
  }
  const double a = -rest / step, b = (end - rest) / step;
  const double most = static_cast<double>(span.last) + 4;
  const double low = std::clamp(std::min(a, b), -4.0, most);
  const double high = std::clamp(std::max(a, b), -4.0, most);
  span.first = std::max(span.first, static_cast<int64_t>(std::floor(low)) - 2);
  span.last = std::min(span.last, static_cast<int64_t>(std::ceil(high)) + 2);
}

Span inside(const AffineRow& row, const Size& size) {
  Span span{0, size.width};
  narrow(row.x_step, row.x_row + row.x_shift, size.width, span);
  narrow(row.y_step, row.y_row + row.y_shift, size.height, span);
  // Uses the same arithmetic as the kernels, so that they never read outside the image.
  const auto is_inside = [&](int64_t column) {
    const double at = static_cast<double>(column) + 0.5;
    const double x = row.x_step * at + row.x_row + row.x_shift;
    const double y = row.y_step * at + row.y_row + row.y_shift;
    return x >= 0 && x < static_cast<double>(size.width) && y >= 0 &&
           y < static_cast<double>(size.height);
  };
  while (span.first < span.last && !is_inside(span.first)) ++span.first;
  while (span.first < span.last && !is_inside(span.last - 1)) --span.last;
  return span.first < span.last ? span : Span{};
}

void fill(const std::array<uint8_t, 3>& color, uint8_t* row, int64_t first, int64_t last) {
  for (int64_t x = first; x < last; ++x) std::memcpy(row + 3 * x, color.data(), 3);
}

// Uses 16 fractional bits like Pillow, to select the same pixels.
void nearest(const Operation& operation, const Matrix& m, uint8_t* pixels, const Size& size,
             Bordered& source) {
  source.copy(pixels, size, 0);
  const auto fixed = [](double x) { return static_cast<int64_t>(std::floor(x * 65536.0 + 0.5)); };
  const int64_t x_of_x = fixed(m[0]), x_of_y = fixed(m[1]), y_of_x = fixed(m[3]),
                y_of_y = fixed(m[4]);
  int64_t x_begin = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  int64_t y_begin = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  const uint8_t* const in = source.origin();
  for (int64_t row = 0; row < size.height; ++row, x_begin += x_of_y, y_begin += y_of_y) {
    uint8_t* out = pixels + 3 * size.width * row;
    int64_t x = x_begin, y = y_begin;
    for (int64_t i = 0; i < size.width; ++i, out += 3, x += x_of_x, y += y_of_x) {
      const int64_t column = x >> 16, line = y >> 16;
      const bool within = column >= 0 && column < size.width && line >= 0 && line < size.height;
      std::memcpy(out, within ? in + line * source.stride() + 3 * column : operation.fill.data(),
                  3);
    }
  }
}

// Returns 16-bit interpolation weights. Pixel P is to the left of the position (or above it), at
// distance `d`. Linear: weights of P and the next pixel. Cubic: weights of the pixel before P, of
// P, and of the next two pixels.
std::array<int16_t, 4> weights_of(double d, bool cubic) {
  const auto whole = [](double share) {
    return static_cast<int16_t>(std::lround(share * (1 << kPlanarBits)));
  };
  constexpr int kOne = 1 << kPlanarBits;
  if (!cubic) {
    const int16_t right = whole(d);
    return {static_cast<int16_t>(kOne - right), right};
  }
  const double square = d * d, cube = square * d;
  const int16_t first = whole(2 * square - cube - d), third = whole(d + square - cube),
                fourth = whole(cube - square);
  return {first, static_cast<int16_t>(kOne - first - third - fourth), third, fourth};
}

// Computes a row whose pixels are all shifted by the same amount, along x or along y. shear_x and
// translations have only such rows.
void shifted_row(const AffineRow& row, bool cubic, const PlanarKernels& kernels) {
  const double x =
      (static_cast<double>(row.first) + 0.5) * row.x_step + row.x_row + row.x_shift - 0.5;
  const double y = row.y_row + row.y_shift - 0.5;
  const double column = std::floor(x), line = std::floor(y);
  const bool down = y != line;
  const auto weights = weights_of(down ? y - line : x - column, cubic);
  const int32_t start = 0;
  RowSums sums{};
  sums.in_stride = down ? row.stride : 3;
  sums.in = row.in + static_cast<int64_t>(line) * row.stride + 3 * static_cast<int64_t>(column) -
            (cubic ? sums.in_stride : 0);
  sums.starts = &start;
  sums.weights = weights.data();
  sums.taps = cubic ? 4 : 2;
  sums.rows = 1;
  sums.bytes = 3 * row.count;
  sums.out = row.out;
  kernels.sum_rows(sums);
}

}  // namespace

Matrix matrix_of(const Operation& operation, const Size& size) {
  const double amount = operation.amount;
  switch (operation.effect) {
    case Effect::shear_x:
      return {1, amount, 0, 0, 1, 0};
    case Effect::shear_y:
      return {1, 0, 0, amount, 1, 0};
    case Effect::translate_x:
      return {1, 0, amount, 0, 1, 0};
    case Effect::translate_y:
      return {1, 0, 0, 0, 1, amount};
    case Effect::rotate:
      return rotation(amount, size);
    default:
      return {1, 0, 0, 0, 1, 0};
  }
}

void transform(const Operation& operation, const Kernels& kernels, const PlanarKernels& sums,
               uint8_t* pixels, const Size& size, Bordered& source, std::vector<uint8_t>& line) {
  const Matrix m = matrix_of(operation, size);
  if (operation.sampling == Sampling::nearest) return nearest(operation, m, pixels, size, source);
  source.copy(pixels, size, kBorder);
  const bool cubic = operation.sampling == Sampling::bicubic;
  const auto kernel = cubic ? kernels.bicubic : kernels.bilinear;
  const bool shifts =
      m[0] == 1 && m[3] == 0 && m[4] == 1 && (m[5] == 0 || (m[1] == 0 && m[2] == 0));
  const auto need = static_cast<size_t>(3 * size.width + 32);
  grow(line, need);
  AffineRow row{};
  row.in = source.origin();
  row.stride = source.stride();
  row.x_step = m[0];
  row.x_shift = m[2];
  row.y_step = m[3];
  row.y_shift = m[5];
  for (int64_t y = 0; y < size.height; ++y) {
    const double middle = static_cast<double>(y) + 0.5;
    row.x_row = m[1] * middle;
    row.y_row = m[4] * middle;
    const Span span = inside(row, size);
    uint8_t* const out = pixels + 3 * size.width * y;
    fill(operation.fill, out, 0, span.first);
    fill(operation.fill, out, span.last, size.width);
    row.first = span.first;
    row.count = span.last - span.first;
    row.out = line.data();
    if (row.count > 0 && shifts)
      shifted_row(row, cubic, sums);
    else if (row.count > 0)
      kernel(row);
    std::memcpy(out + 3 * span.first, line.data(), static_cast<size_t>(3 * row.count));
  }
}

}  // namespace shoal::data::augment
