// evaluation.json: the metrics of one evaluation and its images with the highest losses.

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/log.h"
#include "train/report/class_metrics.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;  // version of the file format

Json calibration_of(const Classification& figures) {
  Json bins = Json::array();
  for (const CalibrationBin& bin : figures.bins)
    bins.push_back(
        {{"confidence", bin.confidence}, {"accuracy", bin.accuracy}, {"images", bin.images}});
  return {{"ece", figures.ece}, {"bins", bins}};
}

class EvaluationFile final : public ReportSink {
 public:
  explicit EvaluationFile(const ResolvedJob& job) : job_(job) {}

  void start(const RunStart& report) override {
    classes_ = report.classes;
    if (!job_.eval_only) remove_later(report.step);
  }

  void evaluation(const EvaluationReport& report) override {
    if (!report.best || job_.eval_only) return;
    try {
      write_evaluation(job_.output, report, classes_);
    } catch (const std::runtime_error& error) {
      log::warning(error.what());
    }
  }

 private:
  // Removes evaluation.json if it describes a step after `step`, the step at which this run starts.
  void remove_later(int64_t step) const {
    const std::filesystem::path path = std::filesystem::path(job_.output) / kEvaluationFile;
    const auto old = parse_json<nlohmann::json>(read_if_readable(path).value_or(""));
    std::error_code none;
    if (number_in(old, "step").value_or(0) > static_cast<double>(step))
      std::filesystem::remove(path, none);
  }

  const ResolvedJob& job_;
  std::vector<std::string> classes_;
};

}  // namespace

void write_evaluation(const std::string& folder, const EvaluationReport& report,
                      const std::vector<std::string>& classes) {
  Json json = {{"format", kFormat},
               {"images", static_cast<int64_t>(report.sum.images)},
               {"top1", report.sum.top1_percent()},
               {"top5", report.sum.top5_percent()},
               {"loss", report.sum.mean_loss()},
               {"epoch", report.finished_epochs},
               {"step", report.step},
               {"ema", report.ema},
               {"classes", classes},
               {"confusion", Json::array()},
               {"calibration", calibration_of(report.figures)},
               {"per_class", Json::array()},
               {"worst", Json::array()}};
  for (const Confusion& one : report.figures.confusion)
    json["confusion"].push_back({one.label, one.predicted, one.images});
  for (const ClassCounts& one : report.figures.classes)
    append_metrics(json["per_class"].emplace_back(Json::object()), one);
  for (const WorstImage& one : report.worst)
    json["worst"].push_back({{"path", one.path},
                             {"label", one.label},
                             {"predicted", one.predicted},
                             {"probability", one.probability},
                             {"loss", one.loss},
                             {"thumbnail", one.thumbnail}});
  write_whole(std::filesystem::path(folder) / kEvaluationFile, json_text(json) + "\n");
}

std::unique_ptr<ReportSink> evaluation_file(const ResolvedJob& job) {
  return std::make_unique<EvaluationFile>(job);
}

}  // namespace shoal::train
