#pragma once
// Reads history.jsonl and groups its values by epoch. Does not use LibTorch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace shoal::train {

// Computes the mean speed of an epoch from its training rows. Each row has the speed of the steps
// since the previous row, so rows with more steps weigh more.
class MeanSpeed {
 public:
  // Adds a row. Ignores a row without a speed. A row without a step counts as one step.
  void add(std::optional<double> step_in_epoch, std::optional<double> images_per_second);
  std::optional<double> images_per_second() const;

 private:
  double last_step_ = 0, steps_ = 0;
  double seconds_ = 0;  // steps divided by images per second, summed over the rows
};

// The values of one epoch; top1 and top5 in percent. A value is absent if the history lacks it, for
// example because the epoch was not evaluated or the run has no averaged weights.
struct EpochValues {
  int64_t epoch = 0;                                   // from 0
  std::optional<double> train_loss, train_top1;        // means over the epoch
  std::optional<double> loss, top1, top5;              // evaluation of the weights
  std::optional<double> ema_loss, ema_top1, ema_top5;  // evaluation of the averaged weights
  std::optional<double> lr;                            // learning rate of the last step
  MeanSpeed speed;                                     // of training

  // The accuracy that decides which epoch is best: that of the averaged weights if there is one,
  // otherwise that of the weights.
  std::optional<double> deciding_top1() const { return ema_top1 ? ema_top1 : top1; }
};

// Groups the rows of history.jsonl by epoch. Values in a later row of an epoch replace those in an
// earlier row.
class EpochCollector {
 public:
  // Adds the row's values to its epoch, and returns the epoch's number. Ignores the row and returns
  // nullopt if its event is not "train", "valid" or "valid_ema", or if its epoch is missing or
  // invalid.
  std::optional<int64_t> add(const nlohmann::json& row);
  std::vector<EpochValues> epochs() const;  // sorted by epoch

 private:
  std::map<int64_t, EpochValues> epochs_;
};

struct RunHistory {
  std::vector<EpochValues> epochs;  // sorted by epoch
  std::string last_time;            // time of the newest row, ISO 8601; may be empty
  std::string last_train_time;      // time of the newest training row; may be empty
  bool torn = false;                // whether the last line is incomplete; it is left out
  int64_t unreadable = 0;           // number of other invalid lines, which are left out
};

// Parses the contents of history.jsonl. Ignores unknown rows, because another version of shoal may
// have written them.
RunHistory read_history(const std::string& text);

// Returns the index of the epoch with the highest deciding_top1(); among equal ones, the first.
// Returns nullopt if no epoch was evaluated.
std::optional<size_t> best_epoch(const std::vector<EpochValues>& epochs);

// Returns a table of the epochs as text, one line each; "best" marks the best epoch. If there are
// more than `most` epochs, the table contains the last `most` and the best one.
std::string epoch_table_text(const std::vector<EpochValues>& epochs, size_t most = 40);

}  // namespace shoal::train
