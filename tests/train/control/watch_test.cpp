#include "train/control/watch.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "base/hash.h"

using namespace shoal::train;

namespace {

// Returns a loss that falls from 7 to about 1 over the steps, with noise of 10 %.
double loss_at(int64_t step) {
  const uint64_t bits = shoal::combine(1, static_cast<uint64_t>(step));
  const double noise = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
  return (1 + 6 * std::exp(-static_cast<double>(step) / 800)) * (1 + 0.2 * noise);
}

struct Seen {
  int64_t step;
  std::string name;
  bool operator==(const Seen&) const = default;
};

template <class Loss>
std::vector<Seen> events(LossWatch& watch, int64_t from, int64_t to, const Loss& loss) {
  std::vector<Seen> seen;
  for (int64_t i = from; i < to; ++i) {
    if (const auto event = watch.add(loss(i))) seen.push_back({i, event->name});
  }
  return seen;
}

}  // namespace

TEST_CASE("a loss that falls with noise causes no event") {
  LossWatch watch(1.5);
  REQUIRE(events(watch, 0, 3000, loss_at).empty());
}

TEST_CASE("a jump or a drop of the loss is one event, however long it lasts") {
  LossWatch watch(1.5);
  const auto seen = events(watch, 0, 1500, [](int64_t i) {
    if (i >= 500 && i < 530) return 2.5 * loss_at(i);
    if (i >= 900 && i < 905) return 0.2 * loss_at(i);
    return loss_at(i);
  });
  REQUIRE(seen == std::vector<Seen>{{500, "loss_spike"}, {900, "loss_drop"}});
}

TEST_CASE("the unit of a loss scales the smallest jump that is an event") {
  const auto jump = [](int64_t i) { return i == 500 ? 2.5 * loss_at(i) : loss_at(i); };
  const auto small_jump = [&](int64_t i) { return jump(i) / 1000; };
  LossWatch watch(1.5), unaware(1.5), aware(1.5, 0.001);
  REQUIRE(events(watch, 0, 600, jump) == std::vector<Seen>{{500, "loss_spike"}});
  CHECK(events(unaware, 0, 600, small_jump).empty());
  CHECK(events(aware, 0, 600, small_jump) == std::vector<Seen>{{500, "loss_spike"}});
}

TEST_CASE("an event contains the loss and the previous median") {
  LossWatch watch(1.5);
  for (int i = 0; i < 40; ++i) REQUIRE(!watch.add(2 + 0.01 * (i % 5)));
  const auto event = watch.add(4);
  REQUIRE(event);
  CHECK(event->loss == 4);
  CHECK(event->median == Approx(2.02));
  CHECK_FALSE(watch.add(4));
  watch.rearm();
  CHECK(watch.add(4));
}

TEST_CASE("a new level of the loss that lasts causes no further events") {
  LossWatch watch(1.5);
  const auto seen =
      events(watch, 0, 400, [](int64_t i) { return i < 200 ? loss_at(0) : 30.0 + i; });
  REQUIRE(seen == std::vector<Seen>{{200, "loss_spike"}});
}

TEST_CASE("a loss that no longer falls is reported once per thousand steps") {
  LossWatch watch(1.5);
  const auto seen = events(watch, 0, 5000, [](int64_t i) {
    return i < 2000 ? 4.0 - 0.001 * static_cast<double>(i)
                    : 2.0 + 0.01 * static_cast<double>(i % 7);
  });
  REQUIRE(seen.size() >= 2);
  REQUIRE(seen.size() <= 3);
  for (const Seen& event : seen) REQUIRE(event.name == "loss_stall");
  REQUIRE(seen[0].step >= 2400);
  REQUIRE(seen[0].step <= 3000);
}

TEST_CASE("a restored watch gives the same events as an uninterrupted one") {
  const auto loss = [](int64_t i) { return i % 333 > 320 ? 3 * loss_at(i) : loss_at(i); };
  LossWatch whole(1.5), first(1.5);
  const auto expected = events(whole, 0, 2000, loss);
  auto seen = events(first, 0, 655, loss);  // step 655 is in a spike
  LossWatch second(1.5);
  second.restore(first.state());
  const auto rest = events(second, 655, 2000, loss);
  seen.insert(seen.end(), rest.begin(), rest.end());
  REQUIRE(expected.size() >= 5);
  REQUIRE(seen == expected);
  REQUIRE(second.state() == whole.state());
}

TEST_CASE("a lasting change of the step time is reported once") {
  SpeedWatch watch;
  std::vector<Seen> seen;
  for (int64_t i = 0; i < 1000; ++i) {
    const bool slow = i >= 300 && i < 600;
    // One step in ten takes longer, as if the run saved or evaluated. This must not be reported.
    const double seconds = (slow ? 0.2 : 0.1) * (i % 10 == 0 ? 8 : 1) * (1 + 0.01 * (i % 3));
    if (const auto event = watch.add(seconds)) {
      seen.push_back({i, event->name});
      CHECK(event->seconds == Approx(slow ? 0.2 : 0.1).epsilon(0.05));
      CHECK(event->median == Approx(slow ? 0.1 : 0.2).epsilon(0.05));
    }
  }
  REQUIRE(seen.size() == 2);
  CHECK((seen[0].name == "slower" && seen[0].step >= 300 && seen[0].step < 340));
  CHECK((seen[1].name == "faster" && seen[1].step >= 600 && seen[1].step < 640));
}
