#include "data/augment/levels.h"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "tests/data/support.h"

using namespace shoal::data;
using namespace shoal::data::augment;

TEST_CASE("magnitudes give the same amounts as in timm and torchvision", "[single]") {
  const Bytes list = read_golden("augment_levels.txt");
  std::istringstream lines(std::string(list.begin(), list.end()));
  std::string who;
  int level = 0, checked = 0;
  double magnitude = 0, expected = 0;
  while (lines >> who >> level >> magnitude >> expected) {
    INFO(who << " " << level << " at " << magnitude);
    std::set<double> amounts;
    for (uint64_t key = 0; key < 32; ++key) {
      KeyedRandom random(key);
      if (who == "timm") {
        TimmScene scene;
        scene.size = {200, 100};
        amounts.insert(timm_operation(static_cast<Level>(level), magnitude, scene, random).amount);
      } else {
        const int64_t bins = who == "auto" ? 10 : 31;
        amounts.insert(torchvision_operation(static_cast<Effect>(level),
                                             static_cast<int64_t>(magnitude), bins,
                                             who == "wide" ? Range::wide : Range::usual, {200, 100},
                                             Sampling::nearest, random)
                           .amount);
      }
    }
    // An operation with a random sign has two possible amounts. The golden file has the larger one.
    REQUIRE(amounts.size() <= 2);
    CHECK(*amounts.rbegin() == Approx(expected).margin(2e-5));
    ++checked;
  }
  CHECK(checked > 400);
}

TEST_CASE(
    "both signs are equally likely, and geometric operations use the filter and the policy's fill",
    "[single]") {
  TimmScene scene;
  scene.size = {224, 224};
  scene.sampling = Sampling::bilinear;
  scene.fill = {124, 116, 104};
  KeyedRandom random(1);
  int negative = 0;
  for (int i = 0; i < 2000; ++i) {
    const Operation rotation = timm_operation(Level::rotate, 5, scene, random);
    REQUIRE(rotation.sampling == Sampling::bilinear);
    REQUIRE(rotation.fill == std::array<uint8_t, 3>{124, 116, 104});
    negative += rotation.amount < 0;
  }
  CHECK(negative == Approx(1000).margin(120));
  const Operation theirs = torchvision_operation(Effect::rotate, 9, 31, Range::usual, scene.size,
                                                 scene.sampling, random);
  CHECK(theirs.sampling == Sampling::bilinear);
  CHECK(theirs.fill == std::array<uint8_t, 3>{0, 0, 0});
}
