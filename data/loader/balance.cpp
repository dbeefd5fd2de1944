#include "data/loader/balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "data/order.h"
#include "data/random.h"

namespace shoal::data {

std::vector<int64_t> class_counts(const Dataset& dataset) {
  std::vector<int64_t> counts(dataset.classes().size(), 0);
  for (int64_t i = 0; i < dataset.size(); ++i) ++counts[static_cast<size_t>(dataset.label(i))];
  return counts;
}

// Largest-remainder method: rounds down, then adds 1 for the classes with the largest remainders.
std::vector<int64_t> balanced_counts(const std::vector<int64_t>& images, double balance,
                                     int64_t length, uint64_t seed) {
  const auto weight = [&](int64_t n) {
    return n > 0 ? std::pow(static_cast<double>(n), 1 - balance) : 0;
  };
  double weights = 0;
  for (const int64_t n : images) weights += weight(n);
  std::vector<int64_t> counts;
  std::vector<std::tuple<double, uint64_t, size_t>> remainders;  // the largest first
  for (size_t c = 0; c < images.size(); ++c) {
    const double exact =
        weights > 0 ? static_cast<double>(length) * weight(images[c]) / weights : 0;
    const double whole = std::floor(exact);
    counts.push_back(static_cast<int64_t>(whole));
    if (images[c] > 0)
      remainders.emplace_back(whole - exact, make_key(Purpose::balance, seed, 0, c), c);
  }
  std::sort(remainders.begin(), remainders.end());
  const int64_t missing = length - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (int64_t i = 0; i < missing; ++i)
    ++counts[std::get<2>(remainders[static_cast<size_t>(i) % remainders.size()])];
  return counts;
}

ClassBalance::ClassBalance(const Dataset& dataset, double balance, int64_t length, uint64_t seed)
    : samples_(static_cast<size_t>(dataset.size())), first_samples_{0}, first_slots_{0} {
  const std::vector<int64_t> images = class_counts(dataset);
  for (const int64_t n : images) first_samples_.push_back(first_samples_.back() + n);
  for (const int64_t n : balanced_counts(images, balance, length, seed))
    first_slots_.push_back(first_slots_.back() + n);
  std::vector<EpochOrder> orders;
  for (size_t c = 0; c < images.size(); ++c)
    orders.emplace_back(images[c], make_key(Purpose::balance, seed, 1, c), 0);
  std::vector<int64_t> found(images.size(), 0);
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const auto c = static_cast<size_t>(dataset.label(i));
    samples_[static_cast<size_t>(first_samples_[c] + orders[c](found[c]++))] = i;
  }
}

ClassBalance::Drawn ClassBalance::draw(int64_t slot, int64_t epoch) const {
  const auto after = std::upper_bound(first_slots_.begin(), first_slots_.end(), slot);
  const auto c = static_cast<size_t>(after - first_slots_.begin()) - 1;
  const int64_t number = slot - first_slots_[c], slots = first_slots_[c + 1] - first_slots_[c];
  const int64_t images = first_samples_[c + 1] - first_samples_[c];
  const int64_t place = (epoch * slots + number) % images;
  return {samples_[static_cast<size_t>(first_samples_[c] + place)], number / images};
}

}  // namespace shoal::data
