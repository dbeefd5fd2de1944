#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

constexpr double kShare = 0.1;       // a smaller share of time spent waiting is not a bottleneck
constexpr double kBusyPercent = 70;  // below this CPU load, reading is the bottleneck, not decoding
constexpr double kBusyGpuPercent = 80;

// Returns the value named `name`, or -1 if there is none.
double value_of(const NamedValues& values, std::string_view name) {
  const auto at = std::ranges::find(values, name, &NamedValues::value_type::first);
  return at == values.end() ? -1 : at->second;
}

std::string images_sentence(double share, double busy) {
  const std::string waits =
      strf("the steps wait for images %.0f %% of the training time", 100 * share);
  if (busy < 0) return "images: " + waits + "; `shoal bench loader` finds the reason";
  const std::string cores = strf(" while %.0f %% of the host's cores are busy", busy);
  if (busy < kBusyPercent)
    return "disk: " + waits + cores +
           ", so reading is slow, not decoding; use faster or local storage, packed sets or "
           "--cache";
  return "images: " + waits + cores +
         ", so decoding and augmentation are slow; use more cores, shoal pack --max-side, or "
         "--resize fast";
}

}  // namespace

std::string bottleneck(const RunEnd& end) {
  const LoaderWait& wait = end.wait;
  if (wait.steps == 0 || wait.seconds <= 0) return "";
  const double images = wait.data_seconds / wait.seconds;
  const double exchange = wait.exchange_seconds / wait.seconds;
  if (std::max(images, exchange) >= kShare && images >= exchange)
    return images_sentence(images, value_of(end.utilization, "cpu_percent"));
  if (exchange >= kShare)
    return strf(
        "gradient exchange: the steps wait for the network or for a slower process %.0f %% of the "
        "training time; use larger batches, --accumulate, --gradient-compression bf16, or a "
        "faster network",
        100 * exchange);
  std::string text =
      strf("computation: %.0f %% of the training time", 100 * std::max(0.0, 1 - images - exchange));
  const double gpu = value_of(end.utilization, "gpu_percent");
  if (gpu >= 0 && gpu < kBusyGpuPercent)
    text += strf("; but the GPUs compute only %.0f %% of it, so larger batches may be faster", gpu);
  return text;
}

}  // namespace shoal::train
