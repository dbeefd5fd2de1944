#include "data/progression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "data/random.h"

namespace shoal::data {
namespace {

int64_t rounded(double pixels) {
  const double steps = std::nearbyint(pixels / static_cast<double>(Progression::kStep));
  return Progression::kStep * std::max<int64_t>(1, static_cast<int64_t>(steps));
}

// Parses a number >= 0 and moves `at` past it. Returns false if there is no such number.
bool take_number(const char*& at, const char* end, double& value) {
  const auto [next, error] = std::from_chars(at, end, value);
  at = next;
  return error == std::errc() && std::isfinite(value) && value >= 0;
}

bool take(const char*& at, const char* end, char wanted) {
  if (at == end || *at != wanted) return false;
  ++at;
  return true;
}

}  // namespace

double EpochSchedule::at(double epoch) const {
  const auto after = std::find_if(points.begin(), points.end(),
                                  [&](const Point& point) { return point.epoch > epoch; });
  if (after == points.begin()) return points.front().value;
  const Point& before = *(after - 1);
  if (after == points.end()) return before.value;
  const double share = (epoch - before.epoch) / (after->epoch - before.epoch);
  return before.value + share * (after->value - before.value);
}

EpochSchedule EpochSchedule::over(double epochs) const {
  EpochSchedule schedule = *this;
  for (Point& point : schedule.points) {
    if (point.share) point.epoch *= epochs;
    point.share = false;
  }
  return schedule;
}

EpochSchedule parse_epoch_schedule(const std::string& text) {
  EpochSchedule schedule;
  if (text == "none") return schedule;
  const char *at = text.data(), *const end = at + text.size();
  bool good = !text.empty();
  while (good && at != end) {
    EpochSchedule::Point point;
    good = take_number(at, end, point.epoch);
    point.share = take(at, end, '%');
    if (point.share) point.epoch /= 100;
    good = good && take(at, end, ':') && take_number(at, end, point.value);
    good = good && (at == end || (take(at, end, ',') && at != end));
    schedule.points.push_back(point);
  }
  if (!good)
    throw std::invalid_argument(
        "a list of EPOCH:VALUE separated by commas, where EPOCH is a number or N%");
  return schedule;
}

int64_t Progression::side(int64_t epoch, int64_t position) const {
  if (smallest > 0) {
    const int64_t first = rounded(static_cast<double>(smallest));
    const int64_t choices = (largest - first) / kStep + 1;
    KeyedRandom random(make_key(Purpose::size, seed, static_cast<uint64_t>(epoch),
                                static_cast<uint64_t>(position / images_per_step)));
    return first + kStep * static_cast<int64_t>(random.below(static_cast<uint64_t>(choices)));
  }
  return sizes.empty() ? size : rounded(sizes.at(static_cast<double>(epoch)));
}

int64_t Progression::smallest_side() const {
  if (smallest > 0) return rounded(static_cast<double>(smallest));
  if (sizes.empty()) return size;
  int64_t side = largest_side();
  for (const EpochSchedule::Point& point : sizes.points)
    side = std::min(side, rounded(point.value));
  return side;
}

int64_t Progression::largest_side() const {
  if (smallest > 0) return largest;
  int64_t side = sizes.empty() ? size : 0;
  for (const EpochSchedule::Point& point : sizes.points)
    side = std::max(side, rounded(point.value));
  return side;
}

double Progression::strength(int64_t epoch) const {
  return strengths.empty() ? 1 : strengths.at(static_cast<double>(epoch));
}

}  // namespace shoal::data
