#pragma once
// The sinks of a Reporter, and the functions that format their text. To add a sink, write one .cpp
// file and a row in sinks.def. `job` must outlive the sink. Does not use LibTorch.

#include <memory>
#include <string>
#include <vector>

#include "train/job/job.h"
#include "train/report/report.h"

namespace shoal::train {

class HistoryFile;

#define SINK(name) std::unique_ptr<ReportSink> name(const ResolvedJob& job);
#define HISTORY_SINK(name) \
  std::unique_ptr<ReportSink> name(const ResolvedJob& job, const HistoryFile& history);
#include "train/report/sinks.def"
#undef SINK
#undef HISTORY_SINK

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kClassesFile = "classes.json";
inline constexpr const char* kEvaluationFile = "evaluation.json";
inline constexpr const char* kEventsFile = "events.jsonl";
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kRunLock = ".lock";  // locked while a run uses its --output

// Returns the content of classes.json: {class name: label}.
std::string classes_json(const std::vector<std::string>& classes);

// Writes evaluation.json in `folder`. `classes`: names in the order of the labels. Numbers that are
// not finite become null. Throws std::system_error.
void write_evaluation(const std::string& folder, const EvaluationReport& report,
                      const std::vector<std::string>& classes);

// Return metric lines without line breaks, either in the format of PyTorch's imagenet example
// ("Epoch: [0][ 10/500]\tTime …") or as key=value ("train:loss=…;"). All numbers except the
// gradient norm must be finite.
std::string imagenet_line(const StepReport& report);
std::string key_value_line(const StepReport& report);
std::string imagenet_test_line(const EvaluationProgress& report);
// "util:cpu_cores=…; util:…; epoch=…;"
std::string utilization_line(const UtilizationReport& report);

// Returns one sentence about what limits the run's speed: computation, images, disk or gradient
// exchange. Empty if the run made no step.
std::string bottleneck(const RunEnd& end);

// Describes a run to the user: model, data, processes, batch, length, output. `kernels`: as in
// RunStart.
std::string start_block(const ResolvedJob& job, const std::string& origin,
                        const std::string& kernels);
// Returns the resolved settings as text for people, to follow start_block(). Without `all`, leaves
// out those with default values, and says so.
std::string settings_block(const ResolvedJob& job, bool all);

// Returns a note about the meaning of Acc@5 with fewer than 5 classes.
std::string top5_note(int64_t classes);

}  // namespace shoal::train
