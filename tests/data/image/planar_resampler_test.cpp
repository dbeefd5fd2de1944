#include "data/image/planar_resampler.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "data/image/crop.h"
#include "data/jpeg/baseline.h"
#include "data/loader/transform.h"
#include "data/random.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

// Returns an image of soft color blobs with some grain, about as smooth as a photograph.
Bytes photograph(const Size& size, uint64_t seed) {
  KeyedRandom random(seed);
  double phase[9];
  for (double& p : phase) p = 6 * random.uniform();
  Bytes pixels;
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x)
      for (int c = 0; c < 3; ++c) {
        const double wave = std::sin(0.043 * static_cast<double>(x) + phase[3 * c]) +
                            std::sin(0.031 * static_cast<double>(y) + phase[3 * c + 1]) +
                            std::sin(0.023 * static_cast<double>(x + y) + phase[3 * c + 2]);
        pixels.push_back(static_cast<uint8_t>(128 + 30 * wave + 16 * random.uniform()));
      }
  return pixels;
}

double decibels(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum == 0 ? 99 : 10 * std::log10(255.0 * 255 * static_cast<double>(a.size()) / sum);
}

struct Request {
  Size image;
  Box box;
  int64_t side;
  bool flip;
};

std::vector<Request> cases() {
  std::vector<Request> all = {{{61, 47}, {0, 0, 61, 47}, 224, false},
                              {{9, 5}, {0, 0, 9, 5}, 16, true},
                              {{500, 375}, {0, 0, 500, 375}, 64, true},
                              {{500, 375}, {499, 374, 1, 1}, 32, false},
                              {{1000, 40}, {3, 1, 900, 38}, 96, false}};
  // Output sizes: every remainder modulo the vector length, and the input sizes of EfficientNets.
  for (int64_t side = 1; side <= 70; side += 3)
    all.push_back({{90, 80}, {5, 3, 80, 70}, side, false});
  for (const int64_t side : {240, 260, 300, 380, 456})
    all.push_back({{500, 375}, {7, 9, 450, 350}, side, false});
  KeyedRandom random(6);
  for (int i = 0; i < 20; ++i) {
    const Size size{200 + static_cast<int64_t>(random.below(300)),
                    150 + static_cast<int64_t>(random.below(250))};
    const Box box = random_resized_crop(size, {}, random);
    all.push_back({size, box, 224, i % 2 == 0});
  }
  return all;
}

Bytes planar(const Bytes& file, const Request& c, Interpolation interpolation, Isa isa) {
  jpeg::BaselineDecoder decoder;
  PlanarResampler resampler(isa);
  Axis x, y;
  x.build({c.box.width, c.side, 0, c.side, c.flip}, interpolation);
  y.build({c.box.height, c.side, 0, c.side, false}, interpolation);
  REQUIRE(decoder.open(file));
  REQUIRE(decoder.start(c.box, nullptr));
  Bytes out(static_cast<size_t>(c.side * c.side * 3));
  resampler.run(decoder.planes(), c.box.left, c.box.top, x, y, out.data(), 3 * c.side);
  return out;
}

Bytes exact(const Bytes& file, const Request& c, Interpolation interpolation) {
  JpegDecoder decoder;
  Resizer resizer;
  resizer.begin({c.box.width, c.side, 0, c.side, c.flip}, {c.box.height, c.side, 0, c.side, false},
                interpolation);
  decoder.open(file);
  decoder.start(c.box, resizer.padding());
  for (RowBlock rows = decoder.next(); rows.count > 0; rows = decoder.next()) resizer.push(rows);
  Bytes out(static_cast<size_t>(c.side * c.side * 3));
  resizer.finish(out.data(), 3 * c.side);
  return out;
}

}  // namespace

TEST_CASE("the fast resize is close to the exact one and the same on every processor",
          "[single][slow]") {
  double sum = 0;
  int count = 0;
  uint64_t seed = 0;
  for (const Request& c : cases()) {
    const Bytes image = photograph(c.image, ++seed);
    for (const bool subsample : {false, true})
      for (const auto interpolation : {Interpolation::bilinear, Interpolation::bicubic}) {
        INFO(c.image.width << "x" << c.image.height << " " << c.box.left << "," << c.box.top << " "
                           << c.box.width << "x" << c.box.height << " to " << c.side);
        const Bytes file = encode_jpeg(image.data(), c.image, 90, subsample);
        const Bytes fast = planar(file, c, interpolation, Isa::portable);
        for (const Isa isa : supported_isas()) REQUIRE(fast == planar(file, c, interpolation, isa));
        const double db = decibels(fast, exact(file, c, interpolation));
        CHECK(db > 45);
        sum += db;
        ++count;
      }
  }
  CHECK(sum / count > 50);
}

TEST_CASE("a transform uses the fast resize if it is requested", "[single]") {
  const Bytes image = photograph({300, 220}, 7);
  const Bytes file = encode_jpeg(image.data(), {300, 220}, 90, true);
  TransformOptions options;
  options.resize = Resize::fast;
  Transform fast(options);
  options.resize = Resize::exact;
  Transform usual(options);
  Bytes a(224 * 224 * 3), b(a);
  for (uint64_t key = 0; key < 20; ++key) {
    fast.training_row(file, key, a.data());
    usual.training_row(file, key, b.data());
    CHECK(a != b);
    CHECK(decibels(a, b) > 45);
  }
  fast.evaluation_row(file, a.data());
  usual.evaluation_row(file, b.data());
  CHECK(decibels(a, b) > 45);
  const Bytes bmp = encode_bmp(image, {300, 220});  // not a JPEG, so `fast` resizes it exactly, too
  fast.training_row(bmp, 3, a.data());
  usual.training_row(bmp, 3, b.data());
  CHECK(a == b);
}
