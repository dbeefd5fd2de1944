#include "data/image/resample.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "tests/data/support.h"

using namespace shoal::data;

namespace {

Bytes resize(const Bytes& pixels, const Size& in, const Size& out, Interpolation how,
             Isa isa = best_isa(), bool mirror = false) {
  Resizer resizer(isa);
  resizer.begin({in.width, out.width, 0, out.width, mirror},
                {in.height, out.height, 0, out.height, false}, how);
  const Box box = resizer.needed();
  Bytes padded = pixels;
  padded.insert(padded.end(), static_cast<size_t>(resizer.padding()), uint8_t{0});
  // Push the rows in two parts, the first with an odd number of rows.
  const int64_t stride = 3 * in.width, first = std::min<int64_t>(box.height, 7);
  const uint8_t* start = padded.data() + box.top * stride + 3 * box.left;
  resizer.push({start, stride, first});
  if (box.height > first) resizer.push({start + first * stride, stride, box.height - first});
  Bytes result(static_cast<size_t>(out.width * out.height * 3));
  resizer.finish(result.data(), 3 * out.width);
  return result;
}

}  // namespace

TEST_CASE("resizing is bit-equal to Pillow 13 for enlarging and reducing with both filters",
          "[single]") {
  std::istringstream cases([] {
    const Bytes text = read_golden("resize.txt");
    return std::string(text.begin(), text.end());
  }());
  const Bytes golden = read_golden("resize_13.bin"), older = read_golden("resize_12.bin");
  REQUIRE(golden.size() == older.size());
  size_t at = 0;
  int checked = 0, differ = 0;
  std::string what, filter;
  Size in, out;
  while (cases >> what >> filter >> in.width >> in.height >> out.width >> out.height) {
    if (what == "eval") out.width = out.height;
    const auto bytes = static_cast<size_t>(out.width * out.height * 3);
    REQUIRE(at + bytes <= golden.size());
    const Bytes expected(golden.begin() + static_cast<int64_t>(at),
                         golden.begin() + static_cast<int64_t>(at + bytes));
    const Bytes before(older.begin() + static_cast<int64_t>(at),
                       older.begin() + static_cast<int64_t>(at + bytes));
    at += bytes;
    if (what != "resize") continue;
    INFO(filter << " " << in.width << "x" << in.height << " to " << out.width << "x" << out.height);
    const auto how = filter == "bilinear" ? Interpolation::bilinear : Interpolation::bicubic;
    for (const Isa isa : supported_isas())
      CHECK(largest_difference(resize(formula_image(in), in, out, how, isa), expected) == 0);
    ++checked;
    // Pillow 12 gives the same bits, except where the order of the passes differs.
    const int difference = largest_difference(before, expected);
    if (how == Interpolation::bilinear) CHECK(difference <= 1);
    if (difference == 0) continue;
    ++differ;
    CHECK(vertical_first({in.width, out.width}, {in.height, out.height}));
  }
  CHECK(at == golden.size());
  CHECK(checked == 46);
  CHECK(differ >= 10);
}

TEST_CASE("every instruction set gives the same bits", "[single]") {
  for (const Size in : {Size{37, 23}, Size{301, 97}, Size{3, 5}, Size{1, 1}})
    for (const Size out : {Size{16, 16}, Size{41, 53}, Size{224, 7}, Size{1, 2}, Size{31, 3}})
      for (const auto how : {Interpolation::bilinear, Interpolation::bicubic}) {
        const Bytes image = formula_image(in);
        const Bytes expected = resize(image, in, out, how, Isa::portable);
        for (const Isa isa : supported_isas()) CHECK(resize(image, in, out, how, isa) == expected);
      }
}

TEST_CASE("resizing to the same size copies, and a uniform image stays uniform", "[single]") {
  const Size size{45, 31};
  const Bytes image = formula_image(size);
  CHECK(resize(image, size, size, Interpolation::bilinear) == image);
  CHECK(resize(image, size, size, Interpolation::bicubic) == image);
  for (const int level : {0, 1, 127, 254, 255}) {
    const Bytes flat(static_cast<size_t>(45 * 31 * 3), static_cast<uint8_t>(level));
    const Bytes small = resize(flat, size, {17, 64}, Interpolation::bicubic);
    CHECK(small == Bytes(small.size(), static_cast<uint8_t>(level)));
  }
}

TEST_CASE("a mirrored resize is the mirror image of the resize", "[single]") {
  const Size in{50, 20}, out{33, 16};
  const Bytes plain = resize(formula_image(in), in, out, Interpolation::bicubic);
  const Bytes mirrored =
      resize(formula_image(in), in, out, Interpolation::bicubic, best_isa(), true);
  Bytes expected;
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = out.width - 1; x >= 0; --x)
      for (int64_t c = 0; c < 3; ++c)
        expected.push_back(plain[static_cast<size_t>((y * out.width + x) * 3 + c)]);
  CHECK(mirrored == expected);
}

TEST_CASE("a part of the output needs only a part of the source and has the same pixels",
          "[single]") {
  // In the second case, the vertical pass comes first.
  const Size in = GENERATE(Size{200, 120}, Size{200, 480}), out{100, 60};
  const Bytes image = formula_image(in), whole = resize(image, in, out, Interpolation::bilinear);
  Resizer resizer;
  const AxisRequest x{in.width, out.width, 40, 20, false}, y{in.height, out.height, 30, 10, false};
  CHECK(vertical_first(x, y) == (in.height == 480));
  resizer.begin(x, y, Interpolation::bilinear);
  const Box box = resizer.needed();
  CHECK(box.left >= 76);
  CHECK(box.width <= 48);
  CHECK(box.height <= 28 * in.height / 120);
  resizer.push({image.data() + 3 * (box.top * in.width + box.left), 3 * in.width, box.height});
  Bytes part(20 * 10 * 3);
  resizer.finish(part.data(), 60);
  for (size_t y = 0; y < 10; ++y)
    for (size_t i = 0; i < 60; ++i)
      REQUIRE(part[y * 60 + i] == whole[((30 + y) * 100 + 40) * 3 + i]);
}
