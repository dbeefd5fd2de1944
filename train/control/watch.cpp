#include "train/control/watch.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "base/median.h"
#include "base/text.h"

namespace shoal::train {
namespace {

// A loss is compared with the median of the last kRecent ordinary losses, if there are at least
// kEnough.
constexpr size_t kRecent = 64, kEnough = 16;
constexpr double kDeviations = 6;              // in standard deviations; smaller jumps are noise
constexpr double kSmallestJump = 0.25;         // multiple of unit_; smaller jumps cause no event
constexpr double kDeviationOfMedian = 1.4826;  // standard deviation / median absolute deviation
// To detect a stall, the last kHalf blocks of kBlock steps are compared with the kHalf before them.
constexpr size_t kBlock = 100, kHalf = 5;
constexpr double kProgress = 0.999;  // stall: new minimum / old minimum is above this
// Of up to kMost step times, compares the last kLatest with the earlier ones (at least kBefore).
constexpr size_t kLatest = 16, kBefore = 48, kMost = 144;  // steps
constexpr int64_t kWarmUp = 8;                             // steps
constexpr double kFactor = 1.5;

void write(std::string& text, const std::deque<double>& values) {
  text += std::to_string(values.size());
  for (const double value : values) text += " " + number(value);
  text += '\n';
}

void read(std::istream& in, std::deque<double>& values) {
  size_t count = 0;
  in >> count;
  values.assign(std::min(count, kMost), 0);
  for (double& value : values) in >> value;
}

}  // namespace

std::optional<LossEvent> LossWatch::add(double loss) {
  if (recent_.size() >= kEnough) {
    const double middle = median({recent_.begin(), recent_.end()});
    std::vector<double> distances;
    for (const double value : recent_) distances.push_back(std::abs(value - middle));
    const double noise =
        std::max(kSmallestJump * unit_, kDeviations * kDeviationOfMedian * median(distances));
    const bool high = loss > ratio_ * middle && loss > middle + noise;
    const bool low = loss * ratio_ < middle && loss < middle - noise;
    if (high || low) {
      if (++unusual_ == 1) return LossEvent{high ? "loss_spike" : "loss_drop", loss, middle};
      if (unusual_ <= static_cast<int64_t>(kRecent)) return std::nullopt;
      recent_.clear();
    }
  }
  unusual_ = 0;
  recent_.push_back(loss);
  if (recent_.size() > kRecent) recent_.pop_front();
  return add_to_block(loss);
}

std::optional<LossEvent> LossWatch::add_to_block(double loss) {
  block_.push_back(loss);
  if (block_.size() < kBlock) return std::nullopt;
  blocks_.push_back(median({block_.begin(), block_.end()}));
  block_.clear();
  if (blocks_.size() < 2 * kHalf) return std::nullopt;
  const auto half = blocks_.begin() + kHalf;
  const double before = *std::min_element(blocks_.begin(), half);
  const double after = *std::min_element(half, blocks_.end());
  if (after <= kProgress * before) {
    blocks_.pop_front();
    return std::nullopt;
  }
  blocks_.clear();  // the next stall is reported 1000 steps later at the earliest
  return LossEvent{"loss_stall", after, before};
}

std::string LossWatch::state() const {
  std::string text = std::to_string(unusual_) + "\n";
  for (const auto* values : {&recent_, &block_, &blocks_}) write(text, *values);
  return text;
}

void LossWatch::restore(const std::string& state) {
  std::istringstream in(state);
  in >> unusual_;
  for (auto* values : {&recent_, &block_, &blocks_}) read(in, *values);
}

std::optional<SpeedEvent> SpeedWatch::add(double seconds) {
  if (++steps_ <= kWarmUp) return std::nullopt;
  recent_.push_back(seconds);
  if (recent_.size() > kMost) recent_.pop_front();
  if (recent_.size() < kLatest + kBefore || steps_ % static_cast<int64_t>(kLatest) != 0)
    return std::nullopt;
  const auto latest = recent_.end() - static_cast<int64_t>(kLatest);
  const double now = median({latest, recent_.end()}), before = median({recent_.begin(), latest});
  if (now < kFactor * before && now * kFactor > before) return std::nullopt;
  recent_.erase(recent_.begin(), latest);
  return SpeedEvent{now > before ? "slower" : "faster", now, before};
}

}  // namespace shoal::train
