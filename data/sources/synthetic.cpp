#include "data/sources/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <stdexcept>

#include "base/round.h"
#include "data/jpeg/turbo.h"
#include "data/random.h"

namespace shoal::data {
namespace {

// Draws a disc on a gradient with noise. The class determines the disc's color and its angle around
// the center of the image.
std::vector<uint8_t> draw(const SyntheticOptions& o, int64_t index) {
  KeyedRandom random(make_key(Purpose::image, o.seed, 0, static_cast<uint64_t>(index)));
  const double turn = static_cast<double>(index % o.classes) / static_cast<double>(o.classes);
  const double angle =
      2 * std::numbers::pi * (turn + random.uniform(-0.2, 0.2) / static_cast<double>(o.classes));
  const auto width = static_cast<double>(o.width), height = static_cast<double>(o.height);
  const double x0 = width * (0.5 + 0.25 * std::cos(angle)),
               y0 = height * (0.5 + 0.25 * std::sin(angle));
  const double radius = std::min(width, height) * random.uniform(0.15, 0.25);
  double color[3], slope[3];
  for (int c = 0; c < 3; ++c) {
    color[c] = 128 + 100 * std::cos(2 * std::numbers::pi * (turn + c / 3.0));
    slope[c] = random.uniform(40, 120);
  }
  std::vector<uint8_t> pixels(static_cast<size_t>(o.width * o.height * 3));
  for (int64_t y = 0; y < o.height; ++y) {
    for (int64_t x = 0; x < o.width; ++x) {
      const double distance = std::hypot(static_cast<double>(x) - x0, static_cast<double>(y) - y0);
      uint64_t noise = random.next();
      for (int c = 0; c < 3; ++c, noise >>= 8) {
        const double shade =
            distance < radius ? color[c] : 60 + slope[c] * static_cast<double>(x) / width;
        const double value = shade + static_cast<double>(noise & 31) - 16;
        pixels[static_cast<size_t>((y * o.width + x) * 3 + c)] =
            static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
  }
  return pixels;
}

class Synthetic : public BasicDataset {
 public:
  explicit Synthetic(const SyntheticOptions& o) : options_(o) {
    for (int64_t i = 0; i < o.classes; ++i) {
      char name[32];
      std::snprintf(name, sizeof name, "class_%05ld", i);
      classes_.emplace_back(name);
    }
    const int64_t rounds =
        std::max<int64_t>(1, ceil_divide(std::min(o.distinct, o.images), o.classes));
    for (int64_t i = 0; i < rounds * o.classes; ++i)
      encoded_.push_back(encode_jpeg(draw(o, i).data(), {o.width, o.height}, 90, true));
  }
  int64_t size() const override { return options_.images; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override {
    return static_cast<int32_t>(sample % options_.classes);
  }
  std::string name(int64_t sample) const override {
    return "synthetic image " + std::to_string(sample);
  }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    const auto& image = encoded_[static_cast<size_t>(sample) % encoded_.size()];
    bytes.assign(image.begin(), image.end());
  }

 private:
  SyntheticOptions options_;
  std::vector<std::string> classes_;
  std::vector<std::vector<uint8_t>> encoded_;
};

}  // namespace

std::shared_ptr<const Dataset> make_synthetic(const SyntheticOptions& options) {
  if (options.images < 1 || options.classes < 1 || options.distinct < 1)
    throw std::invalid_argument("a synthetic dataset needs at least one image and one class");
  if (options.width < 1 || options.height < 1 || options.width > 8192 || options.height > 8192)
    throw std::invalid_argument("synthetic images must have sides of 1 to 8192 pixels");
  return std::make_shared<Synthetic>(options);
}

}  // namespace shoal::data
