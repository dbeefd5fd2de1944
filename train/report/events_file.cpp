// OUTPUT/events.jsonl: starts, resumes, ends and events of a run, with the time of writing. Unlike
// history.jsonl, this file keeps its rows when a run resumes, so it contains all events.

#include <filesystem>

#include "base/json.h"
#include "base/net/host.h"
#include "train/report/appended_file.h"
#include "train/report/sinks.h"
#include "train/report/utc_time.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

class EventsFile final : public ReportSink {
 public:
  explicit EventsFile(const ResolvedJob& job)
      : job_(job), file_(std::filesystem::path(job.output) / kEventsFile) {}

  void start(const RunStart& report) override {
    if (job_.eval_only) return;
    append({{"event", report.step > 0 ? "resume" : "start"},
            {"step", report.step},
            {"epoch", report.epoch},
            {"from", report.origin},
            {"version", job_.provenance.version},
            {"commit", job_.provenance.commit},
            {"world_size", job_.world_size},
            {"hosts", report.hosts.empty() ? std::vector{host_name()} : report.hosts}});
  }
  void event(const Event& report) override {
    Json json = {{"event", report.name}};
    for (const auto& [key, value] : report.values) json[key] = value;
    json["step"] = report.step;
    append(std::move(json));
  }
  void end(const RunEnd& report) override {
    if (job_.eval_only) return;
    Json json = {{"event", report.outcome}};
    if (!report.reason.empty()) json["reason"] = report.reason;
    json["step"] = report.step;
    append(std::move(json));
  }

 private:
  void append(Json json) {
    json["time"] = utc_time();
    file_.append(json_text(json) + "\n");
  }

  const ResolvedJob& job_;
  AppendedFile file_;
};

}  // namespace

std::unique_ptr<ReportSink> events_file(const ResolvedJob& job) {
  return std::make_unique<EventsFile>(job);
}

}  // namespace shoal::train
