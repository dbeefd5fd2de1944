// summary.json: how a run ended, its results, command, version and settings.

#include <algorithm>
#include <filesystem>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secrets.h"
#include "train/report/history_file.h"
#include "train/report/setting_value.h"
#include "train/report/sinks.h"
#include "train/report/utc_time.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Exported& exported) {
  Json json = {{"file", exported.file},
               {"weights", exported.best ? "best" : "last"},
               {"epoch", exported.epoch},
               {"step", exported.step}};
  if (exported.top1) json["acc1"] = *exported.top1;
  return json;
}

Json json_of(const Evaluated& best) {
  Json json = {{"acc1", best.top1}};
  if (best.epoch) json["epoch"] = *best.epoch;
  if (best.step) json["step"] = *best.step;
  return json;
}

class SummaryFile final : public ReportSink {
 public:
  explicit SummaryFile(const ResolvedJob& job)
      : job_(job), path_(std::filesystem::path(job.output) / kSummaryFile) {}

  void step(const StepReport& report) override { train_ = history_row(report); }
  void evaluation(const EvaluationReport& report) override {
    (report.ema ? valid_ema_ : valid_) = history_row(report);
  }
  void end(const RunEnd& report) override {
    if (job_.eval_only) return;
    // If this resumed run had nothing left to train, keeps the summary of the completed run and
    // updates only the entry "exported".
    const bool idle = train_.empty() && valid_.empty();
    if (report.outcome != "failed" && idle) {
      Json old = parse_json<Json>(read_if_readable(path_).value_or(""));
      if (old.is_object() && old.value("outcome", Json()) == "complete") {
        if (!report.exported) return;
        old["exported"] = json_of(*report.exported);
        return write(old);
      }
    }
    write(summary(report));
  }

 private:
  void write(const Json& json) const { write_whole(path_, json_text(json, 2) + "\n"); }
  Json summary(const RunEnd& end) const;

  const ResolvedJob& job_;
  std::filesystem::path path_;
  std::string started_ = utc_time();
  std::string train_, valid_, valid_ema_;  // latest history line of each kind; empty: none yet
};

Json SummaryFile::summary(const RunEnd& end) const {
  Json json = {{"outcome", end.outcome}};
  if (!end.reason.empty()) json["reason"] = end.reason;
  json["version"] = job_.provenance.version;
  json["commit"] = job_.provenance.commit;
  json["command"] = job_.provenance.command;
  for (const auto& [name, value] : job_.provenance.host) json["host"][name] = setting_value(value);
  json["started"] = started_;
  json["ended"] = utc_time();
  json["seconds"] = end.seconds;
  json["epoch"] = end.epoch;
  json["step"] = end.step;
  if (!job_.open_ended) json["steps_per_epoch"] = job_.steps_per_epoch;
  if (end.best) json["best"] = json_of(*end.best);
  if (end.exported) json["exported"] = json_of(*end.exported);
  if (!train_.empty()) json["train"] = Json::parse(train_);
  if (!valid_.empty()) json["valid"] = Json::parse(valid_);
  if (!valid_ema_.empty()) json["valid_ema"] = Json::parse(valid_ema_);
  const LoaderWait& wait = end.wait;
  if (wait.steps > 0)
    json["loader"] = {{"steps", wait.steps},
                      {"steps_waited", wait.waited},
                      {"wait_seconds", wait.data_seconds},
                      {"wait_share", wait.data_seconds / std::max(wait.seconds, 1e-9)},
                      {"exchange_seconds", wait.exchange_seconds}};
  if (const std::string words = bottleneck(end); !words.empty()) json["bottleneck"] = words;
  for (const auto& [name, value] : end.utilization) json["utilization"][name] = value;
  json["data"] = {{"train", masked(job_.train_source)}, {"val", masked(job_.val_source)}};
  json["model"] = {{"name", job_.model_info.name}, {"parameters", job_.model_info.parameters}};
  json["world_size"] = job_.world_size;
  for (const SavedSetting& setting : job_.settings)
    json["settings"][setting.name] = setting_value(setting.value);
  return json;
}

}  // namespace

std::unique_ptr<ReportSink> summary_file(const ResolvedJob& job) {
  return std::make_unique<SummaryFile>(job);
}

}  // namespace shoal::train
