#include "train/control/time_budget.h"

#include <catch2/catch.hpp>

using shoal::train::TimeBudget;

TEST_CASE("the start of the next step is extrapolated from the steps that have arrived") {
  TimeBudget time(100, 0, 0, 0, 50);
  CHECK(time.trained(53) == 3);
  CHECK(time.progress(0) == 0);
  CHECK(time.progress(1) == 0);  // no step time has arrived yet
  time.begin_epoch();
  time.arrived(1, 12);  // includes the start of the run, so it is no step time
  CHECK(time.step_seconds() == 0);
  CHECK(time.progress(2) == Approx(0.12));
  time.arrived(2, 22);
  CHECK(time.step_seconds() == 10);
  CHECK(time.progress(2) == Approx(0.22));
  CHECK(time.progress(4) == Approx(0.42));
  time.arrived(3, 37);
  CHECK(time.step_seconds() == Approx(11));  // 0.8 * 10 + 0.2 * 15
  CHECK_FALSE(time.used_up(8));              // 37 + 5 * 11
  CHECK(time.used_up(9));
  CHECK(time.progress(9) == 1);
}

TEST_CASE("the time between epochs passes, but is not the duration of a step") {
  TimeBudget time(100, 0, 0, 0, 0);
  time.arrived(1, 1);
  time.arrived(2, 2);
  time.begin_epoch();
  time.arrived(3, 50);
  CHECK(time.step_seconds() == 1);
  CHECK(time.progress(4) == Approx(0.51));
}

TEST_CASE("a resumed run goes on from the time that the checkpoint contains") {
  const TimeBudget time(100, 80, 4, 20, 1000);
  CHECK(time.trained(1005) == 85);
  CHECK(time.progress(20) == Approx(0.8));
  CHECK(time.progress(22) == Approx(0.88));
  CHECK_FALSE(time.used_up(24));
  CHECK(time.used_up(25));
}

TEST_CASE("without a budget, the time never ends") {
  TimeBudget time(0, 0, 0, 0, 0);
  time.arrived(1, 1e9);
  CHECK(time.progress(2) == 0);
  CHECK_FALSE(time.used_up(1000));
}
