#include "train/report/summary_file.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/whole_file.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

// A setting's text as the JSON value it means: a number, true, false, or the text itself.
Json value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && at == end)
    return whole;
  uint64_t large = 0;  // a seed may have 64 bits
  if (auto [at, error] = std::from_chars(text.data(), end, large);
      error == std::errc() && at == end)
    return large;
  double number = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && at == end && std::isfinite(number))
    return number;
  return text;
}

Json json_of(const Exported& exported) {
  Json json = {{"file", exported.file},
               {"weights", exported.best ? "best" : "last"},
               {"epoch", exported.epoch},
               {"step", exported.step}};
  if (exported.top1) json["acc1"] = *exported.top1;
  return json;
}

}  // namespace

std::string utc_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return strf("%s.%03dZ", text, static_cast<int>(ms % 1000));
}

bool tells_of_success(const std::filesystem::path& path) {
  std::ifstream file(path);
  const Json summary = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  return summary.is_object() && summary.value("outcome", "") == "complete";
}

void write_summary(const std::filesystem::path& path, const ResolvedJob& job, const Ending& ending,
                   const LastRows& rows, const std::string& started) {
  Json summary = {{"outcome", ending.outcome}};
  if (!ending.reason.empty()) summary["reason"] = ending.reason;
  summary["version"] = job.provenance.version;
  summary["commit"] = job.provenance.commit;
  summary["command"] = job.provenance.command;
  summary["started"] = started;
  summary["ended"] = utc_time();
  summary["seconds"] = ending.seconds;
  summary["epoch"] = ending.epoch;
  summary["step"] = ending.step;
  if (ending.best) {
    summary["best"] = {{"acc1", ending.best->top1}};
    if (ending.best->epoch) summary["best"]["epoch"] = *ending.best->epoch;
    if (ending.best->step) summary["best"]["step"] = *ending.best->step;
  }
  if (ending.exported) summary["exported"] = json_of(*ending.exported);
  if (!rows.train.empty()) summary["train"] = Json::parse(rows.train);
  if (!rows.valid.empty()) summary["valid"] = Json::parse(rows.valid);
  if (!rows.valid_ema.empty()) summary["valid_ema"] = Json::parse(rows.valid_ema);
  const WaitReport& wait = ending.wait;
  if (wait.steps > 0)
    summary["loader"] = {{"steps", wait.steps},
                         {"steps_waited", wait.waited},
                         {"wait_seconds", wait.data_seconds},
                         {"wait_share", wait.data_seconds / std::max(wait.seconds, 1e-9)}};
  summary["data"] = {{"train", job.train_source}, {"val", job.val_source}};
  summary["model"] = {{"name", job.model_info.name}, {"parameters", job.model_info.parameters}};
  summary["world_size"] = job.world_size;
  for (const SavedSetting& setting : job.settings)
    summary["settings"][setting.name] = value_of(setting.value);
  write_whole(path, summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace shoal::train
