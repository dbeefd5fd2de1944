#include "train/report/classification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace shoal::train {
namespace {

// Returns the logarithm of the sum of exp(logit) over all logits; NaN if a logit is NaN.
double log_sum_of(std::span<const float> logits) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  return highest + std::log(sum);
}

// Computes best_guesses(). `log_sum`: log_sum_of(logits).
std::vector<Guess> best_of(std::span<const float> logits, int64_t count, double log_sum) {
  const auto key = [](float logit) {
    return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
  };
  std::vector<Guess> order;
  order.reserve(logits.size());
  for (size_t c = 0; c < logits.size(); ++c)
    if (!(logits[c] <= kExcluded)) order.push_back({static_cast<int32_t>(c), logits[c]});
  const auto end = order.begin() + std::min<ptrdiff_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(), [&](const Guess& a, const Guess& b) {
    const float one = key(a.logit), other = key(b.logit);
    return one > other || (one == other && a.label < b.label);
  });
  order.erase(end, order.end());
  for (Guess& one : order) one.probability = std::exp(one.logit - log_sum);
  return order;
}

std::optional<double> ratio(int64_t part, int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

void add_calibration(const std::vector<ImageResult>& images, Classification& all) {
  int64_t readable = 0;
  for (const ImageResult& one : images) {
    if (!one.readable()) continue;
    const double place = static_cast<double>(one.probabilities[0]) * Classification::kBins;
    auto& bin = all.bins[std::min(Classification::kBins - 1, static_cast<size_t>(place))];
    bin.confidence += one.probabilities[0];
    bin.accuracy += one.correct() ? 1 : 0;
    ++bin.images;
    ++readable;
  }
  for (CalibrationBin& bin : all.bins) {
    if (bin.images == 0) continue;
    all.ece += std::abs(bin.accuracy - bin.confidence) / static_cast<double>(readable);
    bin.confidence /= static_cast<double>(bin.images);
    bin.accuracy /= static_cast<double>(bin.images);
  }
}

void add_means(Classification& all) {
  double used = 0;
  for (const ClassCounts& one : all.classes) {
    if (one.images + one.predicted == 0) continue;
    ++used;
    all.precision += one.precision().value_or(0);
    all.recall += one.recall().value_or(0);
    all.f1 += one.f1().value_or(0);
  }
  if (used == 0) return;
  for (double* mean : {&all.precision, &all.recall, &all.f1}) *mean /= used;
}

}  // namespace

std::vector<Guess> best_guesses(std::span<const float> logits, int64_t count) {
  return best_of(logits, count, log_sum_of(logits));
}

ImageResult result_of(std::span<const float> logits, int32_t label) {
  ImageResult result;
  result.label = label;
  const double log_sum = log_sum_of(logits);
  result.loss = static_cast<float>(log_sum - logits[static_cast<size_t>(label)]);
  if (std::isnan(log_sum)) {
    result.loss = std::numeric_limits<float>::quiet_NaN();
    result.classes[0] = label == 0 && logits.size() > 1 ? 1 : 0;
    return result;
  }
  size_t place = 0;
  for (const Guess& guess : best_of(logits, ImageResult::kTop, log_sum)) {
    result.classes[place] = guess.label;
    result.probabilities[place++] = static_cast<float>(guess.probability);
  }
  return result;
}

std::optional<double> ClassCounts::precision() const {
  return ratio(correct, predicted);
}
std::optional<double> ClassCounts::recall() const {
  return ratio(correct, images);
}
std::optional<double> ClassCounts::f1() const {
  return ratio(2 * correct, images + predicted);
}

Classification classification_of(const std::vector<ImageResult>& images, int64_t classes) {
  Classification all;
  all.classes.resize(static_cast<size_t>(classes));
  std::map<std::pair<int32_t, int32_t>, int64_t> counts;
  for (const ImageResult& one : images) {
    if (!one.readable()) continue;
    ++counts[{one.label, one.classes[0]}];
    ClassCounts& label = all.classes.at(static_cast<size_t>(one.label));
    ++label.images;
    label.correct += one.correct() ? 1 : 0;
    ++all.classes.at(static_cast<size_t>(one.classes[0])).predicted;
  }
  for (const auto& [pair, count] : counts)
    all.confusion.push_back({pair.first, pair.second, count});
  add_calibration(images, all);
  add_means(all);
  return all;
}

std::vector<size_t> highest_losses(const std::vector<ImageResult>& images, size_t count,
                                   bool only_wrong) {
  const auto loss = [&](size_t i) {
    return std::isnan(images[i].loss) ? std::numeric_limits<float>::infinity() : images[i].loss;
  };
  std::vector<size_t> places;
  for (size_t i = 0; i < images.size(); ++i)
    if (images[i].readable() && !(only_wrong && images[i].correct())) places.push_back(i);
  const auto end = places.begin() + static_cast<ptrdiff_t>(std::min(count, places.size()));
  std::partial_sort(places.begin(), end, places.end(), [&](size_t a, size_t b) {
    return loss(a) > loss(b) || (loss(a) == loss(b) && a < b);
  });
  places.erase(end, places.end());
  return places;
}

}  // namespace shoal::train
