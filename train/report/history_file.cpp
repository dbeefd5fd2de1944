#include "train/report/history_file.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <vector>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/log.h"
#include "train/report/utc_time.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path path_of(const ResolvedJob& job) {
  return std::filesystem::path(job.output) / kHistoryFile;
}

int64_t count_lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

// Returns the content of a file; nothing if it does not exist. Throws std::system_error if it
// cannot be read.
std::string content_of(const std::filesystem::path& path) {
  std::error_code error;  // not set if the file does not exist
  if (!std::filesystem::exists(path, error) && !error) return "";
  const std::vector<char> bytes = read_whole_file(path);
  return {bytes.begin(), bytes.end()};
}

// Returns up to `most` lines from the start of a file. Stops at an incomplete line, because a power
// loss may leave half a line or NUL bytes at the end. Throws what content_of() throws.
std::string first_lines(const std::filesystem::path& path, int64_t most) {
  const std::string text = content_of(path);
  size_t kept = 0;
  for (int64_t count = 0; count < most; ++count) {
    const size_t end = text.find('\n', kept);
    if (end == text.npos || text[kept] != '{' || text[end - 1] != '}') break;
    kept = end + 1;
  }
  return text.substr(0, kept);
}

// Returns the folders that may contain a copy of the history. A copy is needed if the --output
// folder is empty (on a new machine) or belongs to another run (with --resume PATH).
std::vector<std::filesystem::path> folders_of_copies(const ResolvedJob& job) {
  const std::filesystem::path resumed = job.resume_path;
  if (resumed.empty()) return {job.checkpoint_dir};
  return {resumed, resumed / kCheckpointsFolder, resumed.parent_path(), job.checkpoint_dir};
}

// Returns the first `most` lines of the longest copy.
std::string longest_copy(const ResolvedJob& job, int64_t most) {
  std::string longest;
  for (const std::filesystem::path& folder : folders_of_copies(job)) {
    std::string copy = first_lines(folder / kHistoryFile, most);
    if (count_lines(copy) > count_lines(longest)) longest = std::move(copy);
  }
  return longest;
}

// Renames a history that this run does not continue.
void set_aside(const std::filesystem::path& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error || bytes == 0) return;
  const auto named = [&](const std::string& prefix) {
    return path.parent_path() / (prefix + path.filename().string());
  };
  std::filesystem::path aside = named("superseded-");
  for (int i = 2; std::filesystem::exists(aside, error); ++i)
    aside = named("superseded-" + std::to_string(i) + "-");
  move_into_place(path, aside);
  log::warning(path.string() + " belongs to another run; renamed to " + aside.filename().string());
}

// Returns the lines to keep, from the file itself or from a copy.
std::string lines_to_keep(const ResolvedJob& job, int64_t count) {
  const std::filesystem::path path = path_of(job);
  if (job.eval_only) {  // keeps all lines, even damaged ones
    std::string all = content_of(path);
    all.resize(all.rfind('\n') + 1);  // npos + 1 is 0
    return all;
  }
  // Without lines to keep, the run starts from the beginning. Renames an old history instead of
  // emptying it: --resume finds no checkpoint if the checkpoint folder is not mounted.
  if (count == 0) set_aside(path);
  std::string kept = first_lines(path, count);
  if (count_lines(kept) == count && job.resume_path.empty()) return kept;
  std::string copy = longest_copy(job, count);
  const bool other_run =
      !job.resume_path.empty() && count_lines(copy) == count && !copy.starts_with(kept);
  if (other_run) set_aside(path);
  if (other_run || count_lines(copy) > count_lines(kept)) kept = std::move(copy);
  if (count_lines(kept) < count)
    log::warning(
        strf("%s has only %ld of the %ld lines that were written up to the checkpoint; "
             "new lines are added after these",
             path.c_str(), count_lines(kept), count));
  return kept;
}

void add_utilization(const NamedValues& values, Json& timing) {
  for (const auto& [name, value] : values) timing["utilization"][name] = value;
}

}  // namespace

std::string history_row(const StepReport& r) {
  Json json = {{"event", "train"},
               {"epoch", r.epoch},
               {"step_in_epoch", r.step_in_epoch},
               {"step", r.step},
               {"loss", r.last.mean_loss()},
               {"loss_average", r.epoch_sum.mean_loss()},
               {"acc1", r.last.top1_percent()},
               {"acc1_average", r.epoch_sum.top1_percent()},
               {"acc5", r.last.top5_percent()},
               {"acc5_average", r.epoch_sum.top5_percent()},
               {"lr", r.lr}};
  if (std::isfinite(r.gradient_norm)) json["grad_norm"] = r.gradient_norm;
  json["timing"] = {{"images_per_sec", r.images_per_second},
                    {"step", r.step_seconds},
                    {"step_average", r.step_seconds_average},
                    {"data", r.data_seconds},
                    {"data_average", r.data_seconds_average}};
  add_utilization(r.utilization, json["timing"]);
  return json.dump();
}

std::string history_row(const EvaluationProgress& r) {
  Json json = {{"event", "test"},
               {"epoch", r.epoch},
               {"step", r.step},
               {"batch", r.batch},
               {"loss", r.last.mean_loss()},
               {"loss_average", r.sum.mean_loss()},
               {"acc1", r.last.top1_percent()},
               {"acc1_average", r.sum.top1_percent()},
               {"acc5", r.last.top5_percent()},
               {"acc5_average", r.sum.top5_percent()},
               {"timing", {{"batch", r.seconds}, {"batch_average", r.seconds_average}}}};
  add_utilization(r.utilization, json["timing"]);
  return json.dump();
}

std::string history_row(const EvaluationReport& r) {
  Json json = {{"event", r.ema ? "valid_ema" : "valid"}, {"epoch", r.epoch}, {"step", r.step}};
  if (std::isfinite(r.sum.loss)) json["loss"] = r.sum.mean_loss();
  json["acc1"] = r.sum.top1_percent();
  json["acc5"] = r.sum.top5_percent();
  json["correct1"] = static_cast<int64_t>(r.sum.top1);
  json["correct5"] = static_cast<int64_t>(r.sum.top5);
  json["images"] = static_cast<int64_t>(r.sum.images);
  json["unreadable"] = static_cast<int64_t>(r.sum.skipped);
  json["timing"] = {{"seconds", r.seconds},
                    {"images_per_sec", r.sum.images / std::max(r.seconds, 1e-9)}};
  return json.dump();
}

std::string history_row(const Event& r) {
  Json json = {{"event", r.name}};
  for (const auto& [key, value] : r.values) json[key] = value;
  json["step"] = r.step;
  return json.dump();
}

HistoryFile::HistoryFile(const ResolvedJob& job, int64_t keep_lines)
    : file_(path_of(job), lines_to_keep(job, keep_lines)), lines_(count_lines(file_.bytes())) {}

void HistoryFile::append(const std::string& row) {
  file_.append(row.substr(0, row.size() - 1) + ",\"time\":\"" + utc_time() + "\"}\n");
  ++lines_;
}

}  // namespace shoal::train
