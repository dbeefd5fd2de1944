#pragma once
// What eval prints.

#include <optional>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "train/report/report.h"

namespace shoal::app {

// Accuracy with several correct labels per image (--real-labels).
struct RealAccuracy {
  int64_t images = 0, correct = 0;  // images with at least one label
  int64_t without = 0;              // images without a label, which do not count
  double percent() const {
    return images > 0 ? 100.0 * static_cast<double>(correct) / static_cast<double>(images) : 0;
  }
};

// The evaluation of one set of weights.
struct EvaluatedWeights {
  std::string file, network;
  bool ema = false;  // whether they are averaged weights
  train::EvaluationReport report;
  std::vector<std::string> classes;  // names by label
  std::optional<RealAccuracy> real;
  // --suspects. With several sets of weights, only in the last one: those of all sets, with mean
  // losses.
  std::vector<train::WorstImage> suspects;
};

// Prints the evaluation of one set of weights, as text or with --json as one line of JSON.
void print_evaluation(const Arguments& arguments, const EvaluatedWeights& evaluated);

// Prints one line per set of weights, a table unless --json is given.
void print_comparison(const Arguments& arguments, const std::vector<EvaluatedWeights>& all);

}  // namespace shoal::app
