#include "data/augment/editor.h"

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "data/random.h"
#include "tests/data/support.h"

using namespace shoal::data;
using namespace shoal::data::augment;

namespace {

const std::map<std::string, Effect> kEffects = {{"auto_contrast", Effect::auto_contrast},
                                                {"equalize", Effect::equalize},
                                                {"invert", Effect::invert},
                                                {"posterize", Effect::posterize},
                                                {"solarize", Effect::solarize},
                                                {"solarize_add", Effect::solarize_add},
                                                {"brightness", Effect::brightness},
                                                {"contrast", Effect::contrast},
                                                {"color", Effect::color},
                                                {"sharpness", Effect::sharpness},
                                                {"hue", Effect::hue},
                                                {"grayscale", Effect::grayscale},
                                                {"shear_x", Effect::shear_x},
                                                {"shear_y", Effect::shear_y},
                                                {"translate_x", Effect::translate_x},
                                                {"translate_y", Effect::translate_y},
                                                {"rotate", Effect::rotate},
                                                {"box_blur", Effect::box_blur},
                                                {"gaussian_blur", Effect::gaussian_blur}};

const std::map<std::string, Sampling> kSamplings = {{"nearest", Sampling::nearest},
                                                    {"bilinear", Sampling::bilinear},
                                                    {"bicubic", Sampling::bicubic}};

struct Case {
  std::string name;
  Operation operation;
  Size size;
};

// Reads the cases in tests/golden/augment.txt, one per line.
std::vector<Case> golden_cases() {
  const Bytes list = read_golden("augment.txt");
  std::istringstream text(std::string(list.begin(), list.end()));
  std::vector<Case> cases;
  std::string effect, sampling;
  double amount;
  int red, green, blue;
  Size size;
  while (text >> effect >> amount >> sampling >> red >> green >> blue >> size.width >>
         size.height) {
    Operation operation{
        kEffects.at(effect),
        amount,
        kSamplings.at(sampling),
        {static_cast<uint8_t>(red), static_cast<uint8_t>(green), static_cast<uint8_t>(blue)}};
    cases.push_back({effect + " " + std::to_string(amount) + " " + sampling, operation, size});
  }
  return cases;
}

// Whether a result may differ from the golden one by one level, because pixels are interpolated or
// intermediate sums are rounded.
bool may_differ(Effect effect, Sampling sampling) {
  return effect == Effect::gaussian_blur || sampling != Sampling::nearest;
}

}  // namespace

TEST_CASE("operations equal those of Pillow, torchvision and timm", "[single]") {
  const Bytes golden = read_golden("augment.bin");
  auto at = golden.begin();
  const std::vector<Case> cases = golden_cases();
  REQUIRE(cases.size() > 80);
  for (const Isa isa : supported_isas()) {
    Editor editor(isa);
    at = golden.begin();
    for (const Case& one : cases) {
      Bytes pixels = formula_image(one.size);
      const Bytes expected(at, at + static_cast<int64_t>(pixels.size()));
      at += static_cast<int64_t>(pixels.size());
      editor.apply(one.operation, pixels.data(), one.size);
      INFO(one.name << ", instruction set " << static_cast<int>(isa));
      CHECK(largest_difference(pixels, expected) <=
            may_differ(one.operation.effect, one.operation.sampling));
    }
    CHECK(at == golden.end());
  }
}

TEST_CASE("every instruction set gives the same bits at every size and writes only the image",
          "[single]") {
  Editor portable(Isa::portable);
  std::vector<Editor> editors;
  for (const Isa isa : supported_isas()) editors.emplace_back(isa);
  KeyedRandom random(3);
  for (const Size size : {Size{1, 1}, Size{2, 3}, Size{3, 2}, Size{9, 64}, Size{64, 9},
                          Size{65, 31}, Size{131, 40}}) {
    for (const Case& one : golden_cases()) {
      const auto bytes = static_cast<size_t>(3 * size.width * size.height);
      Bytes a(bytes + 64, 77);
      for (size_t i = 0; i < bytes; ++i) a[i] = static_cast<uint8_t>(random.next());
      INFO(one.name << " " << size.width << "x" << size.height);
      Bytes expected = a;
      portable.apply(one.operation, expected.data(), size);
      REQUIRE(std::all_of(expected.begin() + static_cast<int64_t>(bytes), expected.end(),
                          [](uint8_t x) { return x == 77; }));
      for (Editor& editor : editors) {
        Bytes b = a;
        editor.apply(one.operation, b.data(), size);
        REQUIRE(b == expected);
      }
    }
  }
}

TEST_CASE("pixels from outside the image get the fill color, all others do not", "[single]") {
  const Size size{40, 20};
  Bytes white(static_cast<size_t>(3 * size.width * size.height), 255);
  Editor editor;
  editor.apply({Effect::translate_x, 7, Sampling::bicubic, {1, 2, 3}}, white.data(), size);
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x) {
      const uint8_t* pixel = white.data() + 3 * (y * size.width + x);
      const Bytes expected = x < 33 ? Bytes{255, 255, 255} : Bytes{1, 2, 3};
      REQUIRE(Bytes(pixel, pixel + 3) == expected);
    }
}

TEST_CASE("a blend extrapolates beyond both images and is clamped", "[single]") {
  const Size size{2, 1};
  Bytes a = {0, 100, 200, 10, 20, 30};
  const Bytes b = {100, 50, 255, 20, 30, 41};
  Editor().blend(a.data(), b.data(), 1.5, size);
  CHECK(a == Bytes{150, 25, 255, 25, 35, 46});
}
