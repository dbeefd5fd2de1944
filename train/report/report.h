#pragma once
// What rank 0 tells the world: metric lines in two dialects, history.jsonl, summary.json, the start
// block, a progress bar.
//
// Dialects: PyTorch's imagenet example ("Epoch: [0][ 10/500]\tTime …") and key=value
// ("train:loss=…;"), each on a line of its own, each number finite. history.jsonl holds one JSON
// object per printed report with the same values unrounded and the time it was written, so a scraped
// value equals the history to the printed digits. Torch-free. On other ranks every method does nothing.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/checkpoint/position.h"
#include "train/report/summary_file.h"
#include "train/run/job.h"
#include "train/run/meter.h"

namespace shoal::train {

struct StepReport {
  int64_t epoch = 0, step_in_epoch = 0, steps_per_epoch = 0;  // step_in_epoch: updates done, from 1
  int64_t step = 0;                                           // updates since the start of training
  // Of the last update, and averaged over this process's part of the epoch; then how much of each
  // was waiting for images.
  double step_seconds = 0, step_seconds_average = 0;
  double data_seconds = 0, data_seconds_average = 0;
  Meter last, epoch_sum;  // over all ranks: the last update, the epoch so far
  double lr = 0, images_per_second = 0;
  double gradient_norm = 0;
};

struct EvaluationReport {
  int64_t epoch = 0, step = 0;  // epochs finished (or under way), updates done
  Meter sum;                    // over all ranks; skipped = unreadable images
  double seconds = 0;
  bool ema = false;      // of the averaged weights
  bool stopped = false;  // broken off: the sum is of no use
};

inline constexpr const char* kHistoryFile = "history.jsonl";
inline constexpr const char* kSummaryFile = "summary.json";

class Reporter {
 public:
  // Opens OUTPUT/history.jsonl, keeping its first `keep_lines` lines (the rest was written after
  // the checkpoint a run is resumed from; --eval-only keeps all). Where they are missing there,
  // they come from the copy beside the checkpoints. Throws std::runtime_error with path and reason.
  Reporter(const ResolvedJob& job, int64_t rank, int64_t keep_lines);

  void write_classes(const std::vector<std::string>& classes);  // OUTPUT/classes.json: name → label
  // The block with everything resolved; `origin`: fresh, or from where.
  void start(const std::string& origin);
  void step(const StepReport& report);  // the metric lines; non-finite numbers are left out
  // What happened at an update, as one line and one entry of the history. Not in the history: what
  // depends on time.
  void event(const std::string& name, int64_t step,
             const std::vector<std::pair<std::string, double>>& values, bool in_history = true);
  void progress(const Position& at, double images_per_second, const Meter& epoch_sum);
  // Call before the rows of an evaluation: what they say of where the run is.
  void begin_evaluation(int64_t epoch, int64_t step) {
    evaluation_epoch_ = epoch, evaluation_step_ = step;
  }
  void evaluation_progress(int64_t batch, int64_t batches, double seconds, double seconds_average,
                           const Meter& last, const Meter& sum);
  void evaluation(const EvaluationReport& report);  // " * Acc@1 …", valid:… and the divisor
  // "Total time: …", what was waited for, and summary.json.
  void finish(const Ending& ending);
  // summary.json of a run that ends with an exception. Throws nothing: the exception counts.
  void fail(const Ending& ending) noexcept;

  int64_t history_lines() const { return history_lines_; }
  std::filesystem::path history_file() const { return output_ / kHistoryFile; }

 private:
  void append(const std::string& json);  // one row, with the time

  const ResolvedJob& job_;
  bool on_;
  std::filesystem::path output_;
  std::ofstream history_;
  int64_t history_lines_ = 0;
  int64_t evaluation_epoch_ = 0, evaluation_step_ = 0;
  std::string started_;  // utc_time()
  LastRows last_;
};

// What is resolved, for people: model, data, processes, batch, length, output, settings.
std::string start_block(const ResolvedJob& job, const std::string& origin);

// What Acc@5 means with fewer classes than ops::kTop5.
std::string top5_note(int64_t classes);

// {class name: label}, as classes.json holds it.
std::string classes_json(const std::vector<std::string>& classes);

// The lines of one report, in print order, without line breaks. Pure: what the tests run the metric
// regexes over.
std::string imagenet_line(const StepReport& report);
std::string key_value_line(const StepReport& report);
std::string imagenet_test_line(int64_t batch, int64_t batches, double seconds,
                               double seconds_average, const Meter& last, const Meter& sum);

}  // namespace shoal::train
