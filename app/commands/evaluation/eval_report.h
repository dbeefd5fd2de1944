#pragma once
// Prints the results of eval.

#include <optional>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "train/report/report.h"

namespace shoal::app {

// Accuracy with several correct labels per image (--real-labels).
struct RealAccuracy {
  int64_t images = 0, correct = 0;  // images with labels; the correctly predicted ones
  int64_t without = 0;              // images without labels; percent() ignores them
  double percent() const {
    return images > 0 ? 100.0 * static_cast<double>(correct) / static_cast<double>(images) : 0;
  }
};

// The evaluation of one set of weights.
struct EvaluatedWeights {
  std::string file, network;
  bool ema = false;  // whether averaged weights (EMA) were evaluated
  train::EvaluationReport report;
  std::vector<std::string> classes;  // names by label
  std::optional<RealAccuracy> real;
  // Images whose labels may be wrong (--suspects). With several sets of weights, only the last set
  // has suspects, and their losses are means over all sets.
  std::vector<train::WorstImage> suspects;
};

// Prints the evaluation of one set of weights as text, or with --json as one line of JSON.
void print_evaluation(const Arguments& arguments, const EvaluatedWeights& evaluated);

// Prints a table with one line per set of weights, or with --json one line of JSON per set.
void print_comparison(const Arguments& arguments, const std::vector<EvaluatedWeights>& all);

}  // namespace shoal::app
