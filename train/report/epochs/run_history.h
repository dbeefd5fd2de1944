#pragma once
// Reads history.jsonl back, by epoch. Does not use LibTorch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::train {

// The values of one epoch. Absent: the epoch was not evaluated, or has no averaged weights.
struct EpochValues {
  int64_t epoch = 0;                                   // from 0
  std::optional<double> train_loss, train_top1;        // mean over the epoch
  std::optional<double> loss, top1, top5;              // of the evaluation; percent
  std::optional<double> ema_loss, ema_top1, ema_top5;  // of the averaged weights
  std::optional<double> images_per_second;             // of training: mean over the printed steps

  // The accuracy that decides which epoch is the best one: that of the averaged weights, if any.
  std::optional<double> deciding_top1() const { return ema_top1 ? ema_top1 : top1; }
};

struct RunHistory {
  std::vector<EpochValues> epochs;  // sorted by epoch
  std::string last_time;            // of the newest row, ISO 8601; may be empty
  bool torn = false;                // the last line is incomplete and was left out
  int64_t unreadable = 0;           // number of other lines that were left out
};

// Parses history.jsonl. Ignores unknown rows, so that it can read histories of other versions. A
// later row of the same epoch replaces an earlier one.
RunHistory read_history(const std::string& text);

// Returns the index of the epoch with the highest deciding accuracy, the first one if several are
// equal. Nothing without an evaluation.
std::optional<size_t> best_epoch(const std::vector<EpochValues>& epochs);

// Returns a table of the epochs as text, one line each; "best" marks the best epoch. If there are
// more than `most` epochs, the table contains the last `most` and the best one.
std::string epoch_table_text(const std::vector<EpochValues>& epochs, size_t most = 40);

}  // namespace shoal::train
