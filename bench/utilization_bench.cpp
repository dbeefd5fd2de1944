// Measures the CPU time of one reading of the host's utilization. A training run takes a reading
// every 10 s. Prints one line. The first argument is the number of readings (default: 1000).

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "train/report/host/utilization.h"

int main(int count, char** words) {
  using shoal::train::UtilizationMeter;
  const int readings = count > 1 ? std::atoi(words[1]) : 1000;
  if (readings < 1) return 2;
  UtilizationMeter meter(/*gpus=*/{}, /*alone=*/false);
  auto now = shoal::train::SteadyClock::now();
  const std::clock_t start = std::clock();
  for (int i = 0; i < readings; ++i) {
    now += UtilizationMeter::kPeriod;
    if (meter.take(now).empty()) return 1;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / readings;
  const auto period = std::chrono::duration<double>(UtilizationMeter::kPeriod).count();
  std::printf("%.3f ms a reading, %.4f %% of a core\n", 1e3 * seconds, 100 * seconds / period);
}
