#include "data/augment/policy.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace shoal::data::augment;
using Catch::Contains;
using Kind = Policy::Kind;

TEST_CASE("timm's RandAugment has its keys and defaults", "[single]") {
  const Policy plain = parse_policy("rand");
  CHECK(plain.kind == Kind::independent);
  CHECK(plain.count == 2);
  CHECK(plain.sequences.size() == 15);
  CHECK(plain.magnitude_deviation == 0);
  CHECK(plain.magnitude_limit == 10);
  for (const auto& sequence : plain.sequences) {
    CHECK(sequence.size() == 1);
    CHECK(sequence[0].probability == 0.5);
    CHECK(sequence[0].magnitude == 10);
  }
  CHECK(plain.sequences[4][0].level == Level::posterize);

  const Policy policy = parse_policy("rand-m9-n3-p0.7-mstd0.5-mmax15-inc1");
  CHECK(policy.count == 3);
  CHECK(policy.magnitude_deviation == 0.5);
  CHECK(policy.magnitude_limit == 15);
  CHECK(policy.sequences[4][0].level == Level::posterize_increasing);
  CHECK(policy.sequences[4][0].magnitude == 9);
  CHECK(policy.sequences[4][0].probability == 0.7);
  CHECK(std::isinf(parse_policy("rand-mstd101").magnitude_deviation));
  CHECK(parse_policy("rand-m9-inc0").sequences[4][0].level == Level::posterize);
}

TEST_CASE("timm's weighted set and small sets of operations are known", "[single]") {
  const Policy weighted = parse_policy("rand-m7-tweights");
  CHECK(weighted.weights.size() == 15);
  CHECK(weighted.sequences.size() == 15);
  CHECK(weighted.sequences[0][0].level == Level::rotate);
  CHECK(parse_policy("rand-t3a").sequences.size() == 3);
  CHECK(parse_policy("rand-t3a").weights.empty());
  CHECK(parse_policy("rand-t3aw").weights.size() == 14);
}

TEST_CASE("AutoAugment's policies have 25 pairs; their variants differ only in posterize",
          "[single]") {
  for (const auto& [name, other] : {std::pair{"original", "originalr"}, std::pair{"v0", "v0r"}}) {
    const Policy a = parse_policy(name), b = parse_policy(other);
    REQUIRE(a.sequences.size() == 25);
    std::set<std::pair<Level, Level>> changed;
    for (size_t i = 0; i < 25; ++i) {
      REQUIRE(a.sequences[i].size() == 2);
      for (size_t k = 0; k < 2; ++k) {
        const Step &x = a.sequences[i][k], &y = b.sequences[i][k];
        CHECK(x.probability == y.probability);
        CHECK(x.magnitude == y.magnitude);
        if (x.level != y.level) changed.insert({x.level, y.level});
      }
    }
    CHECK(changed.size() == 1);
    CHECK(changed.begin()->second == Level::posterize_increasing);
  }
  CHECK(parse_policy("v0-mstd0.5").magnitude_deviation == 0.5);
  CHECK(parse_policy("imagenet").kind == Kind::torchvision_auto);
  CHECK(parse_policy("imagenet").sequences.size() == 25);
}

TEST_CASE("AugMix, three-augment and torchvision's policies are known by their names", "[single]") {
  const Policy augmix = parse_policy("augmix-m5-w4-d2-a0.5-b1");
  CHECK(augmix.kind == Kind::mixed);
  CHECK(augmix.width == 4);
  CHECK(augmix.depth == 2);
  CHECK(augmix.alpha == 0.5);
  CHECK(augmix.blended);
  CHECK(augmix.sequences[0][0].magnitude == 5);
  CHECK(std::isinf(augmix.magnitude_deviation));
  CHECK(parse_policy("augmix").sequences[0][0].magnitude == 3);
  CHECK(parse_policy("augmix-mstd1").magnitude_deviation == 1);
  CHECK(parse_policy("three-augment").sequences.size() == 3);
  CHECK(parse_policy("3a-mstd0.5").magnitude_deviation == 0.5);
  CHECK(parse_policy("trivial").kind == Kind::trivial);
  CHECK(parse_policy("ta_wide").kind == Kind::trivial);
  const Policy rand = parse_policy("ra-m5-n3");
  CHECK(rand.kind == Kind::torchvision_rand);
  CHECK(rand.magnitude == 5);
  CHECK(rand.count == 3);
  CHECK(parse_policy("ra").magnitude == 9);
  CHECK(parse_policy("none").kind == Kind::none);
}

TEST_CASE("the error for a wrong policy names the invalid part and the valid names", "[single]") {
  const auto refused = [](const std::string& text, const std::string& part,
                          const std::string& known) {
    INFO(text);
    CHECK_THROWS_WITH(parse_policy(text), Contains("'" + part + "'") && Contains(known));
  };
  refused("random", "random", "policies are none, imagenet, ra-m9-n2, trivial");
  refused("", "", "policies are none");
  refused("rand-m9-q5", "q5", "m, n, p, mstd, mmax, inc");
  refused("rand-mx", "mx", "m, n, p");
  refused("rand-m9-w0", "w0", "tweights");
  refused("rand-tall", "tall", "tweights, t3a or t3aw");
  refused("rand-m", "m", "m takes a whole number from 0 to 10, or with mmaxN");
  refused("rand-m9x", "m9x", "from 0 to 10, or with mmaxN");
  refused("rand-m9.5", "m9.5", "whole number");
  refused("rand-m99", "m99", "the largest magnitude is 10; write m10, or raise it with mmax99");
  refused("rand-m16-mmax15", "m16", "write m15");
  refused("rand-mmax5", "mmax5", "");
  refused("augmix-m11", "m11", "from 0 to 10");
  CHECK(parse_policy("rand-m20-mmax20").magnitude_limit == 20);
  refused("rand-p2", "p2", "from 0 to 1");
  refused("rand-m9-", "-", "rand accepts");
  refused("rand-tweights-n16", "n16", "drawn only once");
  refused("rand9", "rand9", "policies are");
  refused("augmix-n3", "n3", "m, w, d, a, b, mstd");
  refused("augmix-w0", "w0", "from 1 to 100");
  refused("v0-m9", "m9", "mstd");
  refused("ra-m31", "m31", "from 0 to 30");
  refused("trivial-m9", "m9", "trivial accepts no settings");
}
