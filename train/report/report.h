#pragma once
// The reports of a run, and the interface of the sinks that write them. Does not use LibTorch.
//
// A sink (terminal bar, log lines, history.jsonl, …) overrides the functions for the reports that
// it writes. Its functions are called only on rank 0, from the training loop's thread or, while
// that thread is frozen, from a thread of the watchdog. If a sink cannot write, start() and end()
// may throw std::runtime_error with path and reason. The other functions only log a warning, so
// that training continues.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/job/meter.h"
#include "train/report/classification.h"

namespace shoal::train {

// Consecutive parameters with the same learning rate.
struct RateGroup {
  std::string name;  // the layer of the group's first parameter, such as "layer1.0.conv1"
  double scale = 1;  // the group's learning rate / StepReport::lr
};

struct RunStart {
  std::string origin;                   // what the run starts from; see Start::origin
  std::vector<std::string> classes;     // names in the order of the labels
  int64_t epoch = 0, step = 0;          // Position::epoch and step; step > 0: a resumed run
  std::vector<std::string> hosts = {};  // names in rank order; empty: only this host
  std::vector<RateGroup> rates = {};    // in the order of the layers
  std::string kernels = {};             // name of the CPU kernels or of the GPU
};

using NamedValues = std::vector<std::pair<std::string, double>>;

// Utilization of the host (utilization.h) since the previous report. Made about every 10 s.
struct UtilizationReport {
  int64_t epoch = 0, step = 0;  // as in TrainingProgress or EvaluationReport
  NamedValues values;
};

// State after each step, for a progress display.
struct TrainingProgress {
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;     // finished steps of the epoch
  int64_t step = 0;              // finished steps since the start of training
  double images_per_second = 0;  // of all ranks, since the last StepReport or the epoch's start
  Meter epoch_sum;               // over all ranks: the epoch so far
  double trained_seconds = 0;    // as TimeBudget::trained()
};

// Metrics of a step, for printing.
struct StepReport {
  int64_t epoch = 0;
  int64_t step_in_epoch = 0, steps_per_epoch = 0;  // step_in_epoch: finished steps
  int64_t step = 0;                                // finished steps since the start of training
  // Duration of this rank's last step, and the mean duration of the steps that this process has
  // made in the epoch.
  double step_seconds = 0, step_seconds_average = 0;
  double data_seconds = 0, data_seconds_average = 0;  // wait for images: last step; mean of steps
  Meter last, epoch_sum;  // over all ranks: the last step, the epoch so far
  double lr = 0, images_per_second = 0;
  double gradient_norm = 0;  // before clipping; printed only if finite
  // Mean over the UtilizationReports since the previous report of a step or evaluation batch; empty
  // if there were none.
  NamedValues utilization = {};
};

// Metrics of an evaluation batch, for printing.
struct EvaluationProgress {
  int64_t epoch = 0, step = 0;              // as in EvaluationReport
  int64_t batch = 0, batches = 0;           // batch: 1-based; batches: equal to batch if unknown
  double seconds = 0, seconds_average = 0;  // this batch; mean of the batches so far
  Meter last, sum;                          // over all ranks: this batch, the evaluation so far
  NamedValues utilization = {};             // as in StepReport
};

// An image with a high loss.
struct WorstImage {
  std::string path;  // the image's path in its source, not escaped
  int32_t label = 0, predicted = 0;
  double probability = 0, loss = 0;  // probability: of the predicted class
  std::string thumbnail = {};        // a small JPEG in base64; may be empty
};

struct EvaluationReport {
  static constexpr size_t kWorst = 50;
  int64_t epoch = 0, step = 0;  // Position::epoch and step at the evaluation
  // Number of finished epochs, including the current one if its last step is done. The next
  // checkpoint's name has this number.
  int64_t finished_epochs = 0;
  Meter sum;  // over all ranks; `skipped` counts unreadable images
  double seconds = 0;
  bool ema = false;      // whether the averaged weights were evaluated
  bool stopped = false;  // whether the evaluation ended early; then other fields are not valid
  bool best = false;     // whether this is the run's best evaluation so far
  // Results of all ranks, including unreadable images. Sorted by the images' positions or, if ranks
  // may have different numbers of batches (streams, --sharded), by rank.
  std::vector<ImageResult> images;
  Classification figures;
  std::vector<WorstImage> worst;  // at most kWorst images, highest loss first
};

// Something unusual at a step, such as a loss spike.
struct Event {
  std::string name;
  int64_t step = 0;
  NamedValues values;
  // Whether history.jsonl contains the event. False for events that depend on timing or the
  // machine, because equal runs must write equal histories.
  bool in_history = true;
};

// Images for TensorBoard, all of the same size. Not created with --tensorboard none or --eval-only.
struct ImageGrid {
  std::string tag;  // "train/images", or a tag such as "valid/worst" for an evaluation
  int64_t step = 0;
  int64_t height = 0, width = 0;             // of each image, pixels
  std::vector<std::vector<uint8_t>> images;  // height×width×3, RGB
  std::vector<std::string> captions = {};    // one per image, or empty
};

// Histogram of the finite elements of one tensor.
struct Histogram {
  std::string tag;  // "weights/features.0.0.weight"
  double min = 0, max = 0, sum = 0, sum_of_squares = 0;
  std::vector<int64_t> counts;  // number of elements per bin, for equal bins from min to max
};

// Total duration of this process's steps (`seconds`), and how long they waited for images
// (`data_seconds`) and for averaged gradients (`exchange_seconds`).
struct LoaderWait {
  int64_t steps = 0, waited = 0;  // waited: steps that waited for images for more than 1 ms
  double seconds = 0, data_seconds = 0;
  double exchange_seconds = 0;  // waiting for the network or for slower ranks
};

// The best evaluation of the run.
struct Evaluated {
  double top1 = 0;                     // percent
  std::optional<int64_t> epoch, step;  // Position::best_epoch and best_step
};

// The weights in --export-dir.
struct Exported {
  std::string file;
  bool best = false;            // true: weights of the best evaluation; false: the last weights
  int64_t epoch = 0, step = 0;  // Position::epoch and step of these weights
  std::optional<double> top1;   // percent; absent if these weights were not evaluated
};

struct RunEnd {
  std::string outcome;          // complete | stopped | failed | evaluated
  std::string reason;           // one sentence, if the run failed or a stopped run is not saved
  int64_t epoch = 0, step = 0;  // Position::epoch and step
  double seconds = 0;           // since this process began the run
  LoaderWait wait;
  std::optional<Evaluated> best;
  std::optional<Exported> exported;
  NamedValues utilization = {};  // mean since this process began the run (utilization.h)
};

class ReportSink {
 public:
  ReportSink() = default;
  ReportSink(const ReportSink&) = delete;
  ReportSink& operator=(const ReportSink&) = delete;
  virtual ~ReportSink() = default;

  virtual void start(const RunStart&) {}
  virtual void progress(const TrainingProgress&) {}
  virtual void utilization(const UtilizationReport&) {}
  virtual void step(const StepReport&) {}
  virtual void event(const Event&) {}
  virtual void evaluation_progress(const EvaluationProgress&) {}
  virtual void evaluation(const EvaluationReport&) {}
  virtual void images(const ImageGrid&) {}
  // Histograms of all parameters and gradients after a step, at the interval of --histograms.
  virtual void histograms(int64_t /*step*/, const std::vector<Histogram>&) {}
  virtual void end(const RunEnd&) {}
};

}  // namespace shoal::train
