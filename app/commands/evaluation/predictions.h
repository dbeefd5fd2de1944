#pragma once
// Text formats of predictions: the rows that predict prints, and the file of eval --predictions.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/commands/evaluation/evaluation.h"
#include "app/options/options.h"
#include "train/run/evaluate.h"

namespace shoal::app {

// Formats the output of predict: --topk classes per image. row() formats one image. For an
// unreadable image, `logits` is empty and `error` is the reason; otherwise `error` is empty.
// Each function returns complete lines. Both arguments of the constructor must outlive the object.
class PredictionRows {
 public:
  PredictionRows(const Arguments& arguments, const std::vector<std::string>& classes);

  std::string header() const;  // empty if the format has none
  std::string row(const std::string& path, std::span<const float> logits,
                  const std::string& error) const;

 private:
  const Arguments& arguments_;
  const std::vector<std::string>& classes_;  // may be empty
};

// Formats the file of eval --predictions: CSV if its name ends with .csv, JSON lines if it ends
// with .jsonl, .ndjson or .json. `classes`, the names by label, must outlive the object.
class PredictionFile {
 public:
  // Throws UserError for other file extensions.
  PredictionFile(const Arguments& arguments, const std::vector<std::string>& classes);

  std::string header() const;
  std::string row(const std::string& path, const train::ImageResult& image,
                  std::span<const float> logits, const std::string& error) const;

 private:
  std::string csv(const std::string& path, const train::ImageResult& image,
                  std::span<const float> logits, const std::string& error) const;
  const std::string& name(int32_t label) const { return classes_[static_cast<size_t>(label)]; }

  bool csv_ = false, logits_ = false;
  const std::vector<std::string>& classes_;
};

// Calls `make` for each image of the batch, in order, with its result and its logits. An unreadable
// image has no logits. Returns the concatenated texts.
std::string rows_of(const train::BatchResult& batch,
                    const std::function<std::string(const train::ImageResult&,
                                                    std::span<const float> logits)>& make);

}  // namespace shoal::app
