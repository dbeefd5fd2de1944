// The JSON lines of NVIDIA's DLLogger: "DLLL {…}", one object per line. `step` is "PARAMETER" for
// settings, [epoch, step in the epoch] in training, [epoch] for an evaluation, and [] for the
// summary.

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/log.h"
#include "base/secrets.h"
#include "train/report/setting_value.h"
#include "train/report/sinks.h"
#include "train/report/utc_time.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

Json with_prefix(const std::string& prefix, const Json& values) {
  Json result = Json::object();
  for (const auto& [name, value] : values.items()) result[prefix + name] = value;
  return result;
}

Json train_values(const StepReport& r, int64_t images_per_step) {
  const double compute = std::max(r.step_seconds - r.data_seconds, 1e-9);
  return {{"loss", r.last.mean_loss()},
          {"top1", r.last.top1_percent()},
          {"top5", r.last.top5_percent()},
          {"compute_ips", static_cast<double>(images_per_step) / compute},
          {"total_ips", r.images_per_second},
          {"data_time", r.data_seconds},
          {"compute_time", compute},
          {"lr", r.lr}};
}

Json evaluation_values(const EvaluationReport& r) {
  Json values = {{"top1", r.sum.top1_percent()},
                 {"top5", r.sum.top5_percent()},
                 {"total_ips", r.sum.images / std::max(r.seconds, 1e-9)}};
  if (std::isfinite(r.sum.loss)) values["loss"] = r.sum.mean_loss();
  return values;
}

class DlloggerLines final : public ReportSink {
 public:
  explicit DlloggerLines(const ResolvedJob& job) : job_(job) {}

  void start(const RunStart&) override {
    for (const SavedSetting& setting : job_.settings)
      log("PARAMETER", {{setting.name, setting_value(masked(setting.value))}});
    for (const char* name : {"train.loss", "val.loss"}) describe(name, "None", "{:.5f}");
    for (const char* name : {"train.total_ips", "train.compute_ips", "val.total_ips"})
      describe(name, "images/s", "{:.2f}");
    for (const char* name : {"train.top1", "train.top5", "val.top1", "val.top5"})
      describe(name, "%", "{:.2f}");
    for (const char* name : {"train.data_time", "train.compute_time"})
      describe(name, "s", "{:.5f}");
  }
  void step(const StepReport& report) override {
    const Json values = with_prefix("train.", train_values(report, job_.global_batch_size));
    summary_.update(values);
    log({report.epoch, report.step_in_epoch}, values);
  }
  void evaluation(const EvaluationReport& report) override {
    const Json values = with_prefix(report.ema ? "val_ema." : "val.", evaluation_values(report));
    summary_.update(values);
    log(Json::array({report.epoch}), values);
  }
  void end(const RunEnd&) override { log(Json::array(), summary_); }

 private:
  // Prints a line. `more`: further members of the JSON object.
  void print(const char* type, const Json& more) const {
    std::string time = utc_time();  // DLLogger writes "2026-11-23 08:30:00.123"
    time[10] = ' ';
    time.pop_back();
    Json line = {{"timestamp", strf("%.3f", wall_time())},
                 {"elapsedtime", strf("%.3f", wall_time() - start_)},
                 {"datetime", time},
                 {"type", type}};
    line.update(more);
    log::line("DLLL " + json_text(line));
  }
  void log(const Json& step, const Json& data) const {
    print("LOG", {{"step", step}, {"data", data}});
  }
  void describe(const char* metric, const char* unit, const char* format) const {
    print("METADATA", {{"metric", metric}, {"metadata", {{"unit", unit}, {"format", format}}}});
  }

  const ResolvedJob& job_;
  const double start_ = wall_time();
  Json summary_ = Json::object();  // the latest value of each metric
};

}  // namespace

std::unique_ptr<ReportSink> dllogger_lines(const ResolvedJob& job) {
  if (job.log_format != "dllogger") return nullptr;
  return std::make_unique<DlloggerLines>(job);
}

}  // namespace shoal::train
