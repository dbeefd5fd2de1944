#include "data/augment/augmenter.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>

#include "base/hash.h"
#include "data/loader/transform.h"
#include "tests/data/support.h"

using namespace shoal::data;
using namespace shoal::data::augment;

namespace {

constexpr Size kSize{48, 32};

Augmenter augmenter(const std::string& policy, Interpolation filter = Interpolation::bicubic) {
  AugmentOptions options;
  options.policy = policy;
  return Augmenter(options, filter);
}

// Returns the operations drawn for each of `images` images.
std::vector<std::vector<Operation>> drawn(const std::string& policy, int images,
                                          Interpolation filter = Interpolation::bicubic) {
  Augmenter made = augmenter(policy, filter);
  std::vector<std::vector<Operation>> all;
  for (int i = 0; i < images; ++i) {
    KeyedRandom random(static_cast<uint64_t>(i));
    all.push_back(made.draw(kSize, random));
  }
  return all;
}

// Returns the sum of the differences between horizontal neighbors.
int64_t roughness(const Bytes& pixels) {
  int64_t sum = 0;
  for (size_t i = 3; i < pixels.size(); ++i) sum += std::abs(pixels[i] - pixels[i - 3]);
  return sum;
}

Bytes augmented(Augmenter& made, uint64_t key) {
  Bytes pixels = formula_image(kSize);
  made.apply(key, pixels.data(), kSize);
  return pixels;
}

const std::vector<std::string> kPolicies = {"imagenet",
                                            "ra-m9-n2",
                                            "trivial",
                                            "original",
                                            "originalr",
                                            "v0",
                                            "v0r",
                                            "3a",
                                            "rand",
                                            "rand-m9-n3-mstd0.5-inc1",
                                            "rand-tweights-mstd200",
                                            "augmix-m5-w4-d2",
                                            "augmix-b1"};

}  // namespace

TEST_CASE("an image's augmentation depends on its key alone, not on earlier images", "[single]") {
  for (const std::string& policy : kPolicies) {
    INFO(policy);
    Augmenter used = augmenter(policy);
    std::set<uint64_t> results;
    for (uint64_t key = 0; key < 24; ++key) {
      Augmenter fresh = augmenter(policy);
      const Bytes pixels = augmented(used, key);
      REQUIRE(pixels == augmented(fresh, key));
      results.insert(shoal::hash_bytes(pixels.data(), static_cast<int64_t>(pixels.size())));
    }
    CHECK(results.size() > 4);
  }
}

TEST_CASE(
    "each RandAugment layer is applied with its probability, and all operations are equally likely",
    "[single]") {
  std::map<Effect, int> effects;
  int operations = 0;
  const int n = 15'000;
  for (const auto& image : drawn("rand-m9-mstd0.5-inc1", n)) {
    REQUIRE(image.size() <= 2);
    operations += static_cast<int>(image.size());
    for (const Operation& operation : image) ++effects[operation.effect];
  }
  CHECK(operations == Approx(n).margin(300));
  CHECK(effects.size() == 15);
  for (const auto& [effect, count] : effects) CHECK(count == Approx(n / 15.0).margin(120));
}

TEST_CASE("magnitudes have the requested deviation and stay in range", "[single]") {
  double sum = 0, squares = 0;
  int count = 0;
  for (const auto& image : drawn("rand-m5-n1-p1-mstd2", 30'000))
    for (const Operation& operation : image)
      if (operation.effect == Effect::rotate) {
        const double magnitude = std::abs(operation.amount) / 3;
        REQUIRE((magnitude >= 0 && magnitude <= 10));
        sum += magnitude;
        squares += (magnitude - 5) * (magnitude - 5);
        ++count;
      }
  CHECK(sum / count == Approx(5).margin(0.15));
  CHECK(squares / count == Approx(4).margin(0.4));
  for (const auto& image : drawn("rand-m9-n1-p1-mstd5-mmax9", 2000))
    for (const Operation& operation : image)
      if (operation.effect == Effect::rotate) REQUIRE(std::abs(operation.amount) <= 27.0001);
}

TEST_CASE("a weighted set draws each operation at most once, those with high weights more often",
          "[single]") {
  std::map<Effect, int> effects;
  for (const auto& image : drawn("rand-p1-n15-tweights", 50)) {
    std::set<Effect> seen;
    for (const Operation& operation : image) seen.insert(operation.effect);
    REQUIRE(image.size() == 15);
    REQUIRE(seen.size() == 15);
  }
  for (const auto& image : drawn("rand-p1-n1-tweights", 12'000)) ++effects[image[0].effect];
  // The weights of all operations sum to 10.05.
  CHECK(effects[Effect::rotate] == Approx(12'000 * 3 / 10.05).margin(200));
  CHECK(effects[Effect::shear_x] == Approx(12'000 * 2 / 10.05).margin(200));
}

TEST_CASE("AutoAugment draws its pairs uniformly and applies each operation with its probability",
          "[single]") {
  std::map<Effect, int> effects;
  std::map<Effect, double> expected;
  const int n = 20'000;
  KeyedRandom random(0);
  const Policy policy = parse_policy("v0");
  for (const auto& pair : policy.sequences)
    for (const Step& step : pair)
      expected[timm_operation(step.level, 0, {kSize}, random).effect] += step.probability * n / 25;
  for (const auto& image : drawn("v0", n))
    for (const Operation& operation : image) ++effects[operation.effect];
  CHECK(effects.size() == expected.size());
  for (const auto& [effect, mean] : expected)
    CHECK(effects[effect] == Approx(mean).margin(4 * std::sqrt(mean)));
}

TEST_CASE("geometric operations use the crop's filter, or either one at random", "[single]") {
  const auto samplings = [](Interpolation filter) {
    std::set<Sampling> found;
    for (const auto& image : drawn("rand-p1", 300, filter))
      for (const Operation& operation : image)
        if (operation.effect == Effect::rotate) found.insert(operation.sampling);
    return found;
  };
  CHECK(samplings(Interpolation::bilinear) == std::set{Sampling::bilinear});
  CHECK(samplings(Interpolation::bicubic) == std::set{Sampling::bicubic});
  CHECK(samplings(Interpolation::random) == std::set{Sampling::bilinear, Sampling::bicubic});
}

TEST_CASE("TrivialAugment applies one operation; AugMix stays between the image and its chains",
          "[single]") {
  for (const auto& image : drawn("trivial", 300)) REQUIRE(image.size() == 1);
  // At magnitude 0, only posterize changes a uniform image: it turns level 90 into 80.
  for (const char* policy : {"augmix-m0-w3", "augmix-m0-w3-b1"}) {
    Augmenter augmix = augmenter(policy);
    int changed = 0;
    for (uint64_t key = 0; key < 60; ++key) {
      Bytes pixels(static_cast<size_t>(3 * kSize.width * kSize.height), 90);
      augmix.apply(key, pixels.data(), kSize);
      REQUIRE(std::all_of(pixels.begin(), pixels.end(), [&](uint8_t x) { return x == pixels[0]; }));
      REQUIRE((pixels[0] >= 79 && pixels[0] <= 90));
      changed += pixels[0] < 89;
    }
    CHECK(changed > 5);
    CHECK(changed < 55);
  }
}

TEST_CASE("gray, blurred and solarized images have the requested frequency", "[single]") {
  AugmentOptions options;
  options.grayscale = 0.25;
  Augmenter gray(options, Interpolation::bilinear);
  options = {};
  options.solarize = 0.5;
  Augmenter solarized(options, Interpolation::bilinear);
  options = {};
  options.gaussian_blur = 0.25;
  Augmenter blurred(options, Interpolation::bilinear);
  const Bytes image = formula_image(kSize);
  int grays = 0, inverted = 0, smoothed = 0;
  for (uint64_t key = 0; key < 2000; ++key) {
    const Bytes a = augmented(gray, key), b = augmented(solarized, key),
                c = augmented(blurred, key);
    grays += a != image;
    inverted += b != image;
    smoothed += c != image;
    if (a != image) REQUIRE((a[0] == a[1] && a[1] == a[2]));
    for (size_t i = 0; b != image && i < b.size(); ++i)
      REQUIRE(b[i] == (image[i] < 128 ? image[i] : 255 - image[i]));
    if (c != image) REQUIRE(roughness(c) < roughness(image));
  }
  CHECK(grays == Approx(500).margin(80));
  CHECK(inverted == Approx(1000).margin(100));
  // Standard deviations are drawn from 0.1 to 2 pixels; those below 0.27 change no byte.
  CHECK(smoothed == Approx(455).margin(80));
}

TEST_CASE("jitter takes one number or one per property; everything else is refused", "[single]") {
  CHECK(parse_jitter("0.4").saturation == 0.4);
  CHECK(parse_jitter("0.4").hue == 0);
  const Jitter all = parse_jitter("0.1,0.2,0.3,0.05");
  CHECK(all.brightness == 0.1);
  CHECK(all.contrast == 0.2);
  CHECK(all.saturation == 0.3);
  CHECK(all.hue == 0.05);
  for (const char* bad : {"", "x", "0.1,", "0.1,0.2", "-1", "1,1,1,0.6", "1,1,1,0.1,1", "1 1 1"})
    CHECK_THROWS_AS(parse_jitter(bad), std::invalid_argument);
}

TEST_CASE("jitter of brightness alone stays in its range", "[single]") {
  AugmentOptions options;
  options.color_jitter = "0.3,0,0";
  Augmenter jitter(options, Interpolation::bilinear);
  double low = 9, high = 0;
  for (uint64_t key = 0; key < 500; ++key) {
    Bytes gray(static_cast<size_t>(3 * kSize.width * kSize.height), 100);
    jitter.apply(key, gray.data(), kSize);
    REQUIRE(std::all_of(gray.begin(), gray.end(), [&](uint8_t x) { return x == gray[0]; }));
    low = std::min(low, gray[0] / 100.0);
    high = std::max(high, gray[0] / 100.0);
  }
  CHECK(low == Approx(0.7).margin(0.02));
  CHECK(high == Approx(1.3).margin(0.02));
}

TEST_CASE("a training row is augmented after crop and flip with the same key", "[single]") {
  const Bytes file = encode_bmp(formula_image({90, 70}), {90, 70});
  TransformOptions options;
  options.size = 32;
  Transform plain(options);
  options.augment.policy = "rand-m9-n3-p1";
  Transform changed(options);
  Augmenter same(options.augment, options.interpolation);
  for (uint64_t key = 0; key < 20; ++key) {
    Bytes a(32 * 32 * 3), b(a);
    plain.training_row(file, key, a.data());
    same.apply(key, a.data(), {32, 32});
    changed.training_row(file, key, b.data());
    REQUIRE(a == b);
  }
}

TEST_CASE("a random filter is bilinear or bicubic for each image", "[single]") {
  const Bytes file = encode_bmp(formula_image({90, 70}), {90, 70});
  std::deque<Transform> transforms;
  for (const auto filter :
       {Interpolation::bilinear, Interpolation::bicubic, Interpolation::random}) {
    TransformOptions options;
    options.size = 32;
    options.interpolation = filter;
    transforms.emplace_back(options);
  }
  int bilinear = 0;
  for (uint64_t key = 0; key < 200; ++key) {
    std::vector<Bytes> rows(3, Bytes(32 * 32 * 3));
    for (size_t i = 0; i < 3; ++i) transforms[i].training_row(file, key, rows[i].data());
    bilinear += rows[2] == rows[0];
    REQUIRE((rows[2] == rows[0] || rows[2] == rows[1]));
  }
  CHECK(bilinear == Approx(100).margin(35));
}

TEST_CASE("draws never change, so that runs continue across builds", "[single]") {
  std::map<std::string, uint64_t> sums;
  for (const std::string policy : {"v0", "rand-m9-mstd0.5-inc1", "trivial", "augmix-m3-w3"}) {
    Augmenter made = augmenter(policy);
    for (uint64_t key = 0; key < 32; ++key) {
      const Bytes pixels = augmented(made, key);
      sums[policy] = shoal::combine(
          sums[policy], shoal::hash_bytes(pixels.data(), static_cast<int64_t>(pixels.size())));
    }
  }
  CHECK(sums["v0"] == 0x26af37206eff9af2ULL);
  CHECK(sums["rand-m9-mstd0.5-inc1"] == 0x66ac3e72fc440a49ULL);
  CHECK(sums["trivial"] == 0x34f9835a3585213ULL);
  CHECK(sums["augmix-m3-w3"] == 0xfa8582b88b7b8f97ULL);
}
