// Compares our schedules with those of PyTorch and timm (tests/golden/scripts/make_optimizers.py).

#include "train/job/schedule.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

namespace {

using shoal::train::learning_rate;
using shoal::train::ScheduleOptions;
using Schedule = ScheduleOptions::Kind;

constexpr int64_t kPerEpoch = 10, kTotal = 120;

std::vector<double> golden(const std::string& wanted) {
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/schedules.txt");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != wanted) continue;
    std::vector<double> values;
    for (double value; words >> value;) values.push_back(value);
    return values;
  }
  return {};
}

void compare(const std::string& name, const ScheduleOptions& options) {
  const std::vector<double> wanted = golden(name);
  REQUIRE(wanted.size() == kTotal);
  for (int64_t step = 0; step < kTotal; ++step) {
    INFO(name << " step " << step);
    CHECK(learning_rate(options, step, kPerEpoch, kTotal) ==
          Approx(wanted[step]).epsilon(1e-11).margin(1e-15));
  }
}

ScheduleOptions with(Schedule kind) {
  ScheduleOptions options;
  options.kind = kind;
  options.lr = 0.4;
  return options;
}

}  // namespace

TEST_CASE("cosine with warm-up equals PyTorch's LinearLR then CosineAnnealingLR, and timm's") {
  ScheduleOptions options = with(Schedule::cosine);
  options.warmup_epochs = 2.5;
  options.min_lr = 1e-3;
  compare("cosine_pytorch", options);
  compare("cosine_timm", options);
}

TEST_CASE("step decay equals PyTorch's StepLR and, with warm-up, timm's") {
  ScheduleOptions options = with(Schedule::step);
  options.decay_epochs = 3;
  compare("step_pytorch", options);
  options.decay_epochs = 2.4;
  options.decay_rate = 0.97;
  options.warmup_epochs = 2.5;
  compare("step_timm", options);
}

TEST_CASE("one cycle equals PyTorch's OneCycleLR") {
  compare("onecycle_pytorch", with(Schedule::one_cycle));
}

TEST_CASE("a step schedule never falls below min_lr") {
  ScheduleOptions options = with(Schedule::step);
  options.decay_epochs = 1;
  options.min_lr = 0.01;
  CHECK(learning_rate(options, 119, kPerEpoch, kTotal) == 0.01);
}

TEST_CASE("the rate is constant after the warm-up of a constant schedule") {
  ScheduleOptions options = with(Schedule::constant);
  options.warmup_epochs = 1;
  CHECK(learning_rate(options, 0, kPerEpoch, kTotal) == Approx(0.004));
  CHECK(learning_rate(options, 5, kPerEpoch, kTotal) == Approx(0.4 * (0.01 + 0.99 * 0.5)));
  CHECK(learning_rate(options, 10, kPerEpoch, kTotal) == 0.4);
  CHECK(learning_rate(options, 119, kPerEpoch, kTotal) == 0.4);
}

TEST_CASE("short runs and steps past the end have a finite positive rate") {
  for (Schedule kind :
       {Schedule::constant, Schedule::cosine, Schedule::step, Schedule::one_cycle}) {
    ScheduleOptions options = with(kind);
    options.warmup_epochs = 2;
    options.min_lr = 1e-4;
    for (int64_t total : {1, 2, 3, 15, 21}) {
      for (int64_t step : {int64_t{0}, total - 1, total, total + 100}) {
        const double rate = learning_rate(options, step, kPerEpoch, total);
        INFO(static_cast<int>(kind) << " step " << step << " of " << total << ": " << rate);
        CHECK(rate > 0);
        CHECK(rate <= 0.4);
      }
    }
  }
}

TEST_CASE("a schedule over time has the rates of the schedule over steps") {
  using shoal::train::learning_rate_at;
  ScheduleOptions options;
  options.lr = 0.4;
  options.warmup_epochs = 2;
  for (const auto kind :
       {Schedule::constant, Schedule::cosine, Schedule::step, Schedule::one_cycle}) {
    options.kind = kind;
    const double epochs = 12;
    for (int64_t step = 0; step < kTotal; ++step) {
      const double progress = static_cast<double>(step) / kTotal;
      // Over steps, one_cycle ends at step kTotal - 1. Over time, it ends at progress 1, which
      // would be step kTotal. So the two are up to one step apart.
      const double margin = kind == Schedule::one_cycle ? 0.02 : 1e-6;
      CHECK(learning_rate_at(options, progress, epochs) ==
            Approx(learning_rate(options, step, kPerEpoch, kTotal)).margin(margin));
    }
  }
  options.kind = Schedule::cosine;
  CHECK(learning_rate_at(options, 1, 12) == Approx(0).margin(1e-12));
}
