#pragma once
// Results of evaluated images, and metrics over all of them: confusion matrix, precision, recall,
// F1 and calibration. Does not use LibTorch.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shoal::train {

// A logit of this value or less excludes the class from predictions.
inline constexpr float kExcluded = -3e38F;

// A class with its score.
struct Guess {
  int32_t label = 0;
  float logit = 0;
  double probability = 0;  // softmax
};

// Returns the `count` classes with the highest logits, best first, without excluded ones. Among
// equal logits the lower class comes first. NaN logits come last.
std::vector<Guess> best_guesses(std::span<const float> logits, int64_t count);

// The result of one evaluated image. Trivially copyable, because ranks exchange it as bytes.
struct ImageResult {
  static constexpr size_t kTop = 5;
  int64_t image = 0;  // position in the evaluated set; with --sharded, in the set of its host
  int32_t rank = 0;   // the rank that evaluated it
  int32_t label = 0;
  std::array<int32_t, kTop> classes = {-1, -1, -1, -1, -1};  // most likely first; -1: none
  std::array<float, kTop> probabilities = {};
  float loss = 0;  // cross-entropy of the label

  bool readable() const { return classes[0] >= 0; }
  bool correct() const { return classes[0] == label; }
};

// Returns the result for the logits of one image. Does not set `image` and `rank`. If a logit is
// NaN, the prediction counts as wrong: it is the lowest class other than the label, with
// probability 0.
ImageResult result_of(std::span<const float> logits, int32_t label);

// Counts and metrics of one class. A metric is nullopt if its denominator is 0.
struct ClassCounts {
  int64_t images = 0, predicted = 0, correct = 0;
  std::optional<double> precision() const;  // correct / predicted
  std::optional<double> recall() const;     // correct / images
  std::optional<double> f1() const;         // 2 correct / (images + predicted)
};

struct Confusion {
  int32_t label = 0, predicted = 0;
  int64_t images = 0;
};

// The images whose top-1 probability is in one of kBins equal intervals from 0 to 1. An interval
// includes its lower limit; the last one includes 1.
struct CalibrationBin {
  double confidence = 0, accuracy = 0;  // means; 0 without images
  int64_t images = 0;
};

struct Classification {
  static constexpr size_t kBins = 15;
  std::vector<ClassCounts> classes;  // indexed by label
  std::vector<Confusion> confusion;  // sorted by label and prediction; only pairs that occur
  std::array<CalibrationBin, kBins> bins = {};
  double ece = 0;  // expected calibration error: image-weighted mean of |accuracy - confidence|
  // Unweighted means over the classes that have images or predictions. Undefined metrics count as
  // 0, as in scikit-learn.
  double precision = 0, recall = 0, f1 = 0;
};

// Returns the metrics over the readable images. `classes`: number of outputs of the model. The
// order of `images` changes only the last bits of floating-point values.
Classification classification_of(const std::vector<ImageResult>& images, int64_t classes);

// Returns the indexes in `images` of at most `count` readable images with the highest losses,
// highest first; equal losses keep the order of `images`. NaN counts as infinite. `only_wrong`:
// considers only images whose prediction is not the label.
std::vector<size_t> highest_losses(const std::vector<ImageResult>& images, size_t count,
                                   bool only_wrong = false);

}  // namespace shoal::train
