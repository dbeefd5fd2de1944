#include "app/commands/local/run_list.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/file/file_lock.h"
#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/text.h"
#include "train/checkpoint/checkpoint_listing.h"
#include "train/job/job.h"
#include "train/report/epochs/run_history.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kMostLevels = 4;

std::string text_in(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";  // reading a pipe could wait forever
  return read_if_readable(path).value_or("");
}

// Returns the nested member json[names[0]][names[1]]...; null if there is none.
const Json* member(const Json& json, const std::vector<const char*>& names) {
  const Json* at = &json;
  for (const char* name : names) {
    if (!at->is_object() || !at->contains(name)) return nullptr;
    at = &at->at(name);
  }
  return at;
}

std::optional<double> number_at(const Json& json, const std::vector<const char*>& names) {
  const Json* const found = member(json, names);
  return found ? number_of(*found) : std::nullopt;
}

std::string text_at(const Json& json, const std::vector<const char*>& names) {
  const Json* const found = member(json, names);
  return found && found->is_string() ? found->get<std::string>() : "";
}

// Returns the value of a setting in config.toml, without quotes; empty if there is none. Also reads
// lines that are commented out: defaults and the recipe's values. Only for values without spaces.
std::string value_in_config(const std::string& config, const std::string& name) {
  for (const std::string& start : {"\n" + name + " = ", "\n# " + name + " = "}) {
    const size_t at = config.find(start);
    if (at == config.npos) continue;
    const size_t from = at + start.size(), end = config.find_first_of(" \n", from);
    std::string value = config.substr(from, std::min(end, config.size()) - from);
    std::erase(value, '"');
    return value;
  }
  return "";
}

// Returns the number of finished epochs. If the run ended within an epoch, adds the finished
// fraction of that epoch, such as 0.5.
std::optional<double> epochs_in(const Json& summary) {
  const auto finished = number_at(summary, {"epoch"});
  const auto last = number_at(summary, {"train", "epoch"});
  const auto step = number_at(summary, {"train", "step_in_epoch"});
  const double steps = number_at(summary, {"steps_per_epoch"}).value_or(0);
  if (!finished || !step || last != finished || !(*step > 0 && *step < steps)) return finished;
  return *finished + *step / steps;
}

void take_summary(RunRow& row, const fs::path& folder) {
  const std::string text = text_in(folder / train::kSummaryFile);
  const Json summary = parse_json<Json>(text);
  if (!text.empty() && !summary.is_object())
    row.notes.push_back(std::string(train::kSummaryFile) + " cannot be read and is ignored");
  row.state = text_at(summary, {"outcome"});
  row.model = text_at(summary, {"model", "name"});
  row.time = text_at(summary, {"ended"});
  row.top1 = number_at(summary, {"best", "acc1"});
  row.epochs = epochs_in(summary);
  row.epochs_requested = number_at(summary, {"settings", "epochs"});
  row.images_per_second = number_at(summary, {"train", "timing", "images_per_sec"});
}

void take_history(RunRow& row, const fs::path& folder) {
  const train::RunHistory history = train::read_history(text_in(folder / train::kHistoryFile));
  const std::string name = train::kHistoryFile;
  if (history.torn) row.notes.push_back(name + ": the last line is incomplete and is ignored");
  if (history.unreadable > 0)
    row.notes.push_back(name + ": " + counted(history.unreadable, "unreadable line") + " ignored");
  // If the history is newer than the summary, the run trained again and wrote no new summary, for
  // example because it was killed.
  if (!row.time.empty() && history.last_train_time > row.time) {
    row.state.clear();
    if (row.epochs) row.epochs = std::floor(*row.epochs);
  }
  row.time = std::max(row.time, history.last_time);
  const auto best = train::best_epoch(history.epochs);
  if (const auto top1 = best ? history.epochs[*best].deciding_top1() : std::nullopt)
    row.top1 = std::max(row.top1.value_or(0), *top1);
  // Index of the epoch within which the run ended; NaN if there is none. This epoch may have been
  // evaluated, but it does not count as finished.
  const double unfinished = row.epochs && *row.epochs > std::floor(*row.epochs)
                                ? std::floor(*row.epochs)
                                : std::numeric_limits<double>::quiet_NaN();
  double evaluated = 0, speeds = 0;
  int64_t measured = 0;
  for (const train::EpochValues& epoch : history.epochs) {
    const auto number = static_cast<double>(epoch.epoch);
    if (epoch.top1 && number != unfinished) evaluated = number + 1;
    if (const auto speed = epoch.speed.images_per_second()) {
      speeds += *speed;
      ++measured;
    }
  }
  if (measured > 0) row.images_per_second = speeds / static_cast<double>(measured);
  if (!history.epochs.empty()) row.epochs = std::max(row.epochs.value_or(0), evaluated);
}

// Fills in the row from config.toml, which each start of the run writes. Clears epochs_requested if
// the run ends after a time or a number of steps.
void take_config(RunRow& row, const fs::path& folder) {
  const std::string config = text_in(folder / train::kConfigFile);
  const auto number = [&](const char* name) {
    return parse_number<double>(value_in_config(config, name));
  };
  if (row.model.empty()) row.model = value_in_config(config, "model");
  if (const auto epochs = number("epochs")) row.epochs_requested = epochs;
  if (number("time-budget").value_or(0) > 0 || number("max-steps")) row.epochs_requested.reset();
}

RunRow read_run(const fs::path& folder, const std::string& name) {
  RunRow row;
  row.name = name;
  take_summary(row, folder);
  take_history(row, folder);
  take_config(row, folder);
  if (is_locked(folder / train::kRunLock))  // held while the run trains
    row.state = "running";
  else if (row.state.empty())
    row.state = "unfinished";
  return row;
}

void search(const fs::path& folder, const std::string& name, int level, std::vector<RunRow>& rows) {
  if (is_run(folder)) {
    rows.push_back(read_run(folder, name));
    return;
  }
  if (level == kMostLevels) return;
  std::error_code error;
  for (const auto& entry : entries_of(folder, error)) {
    std::error_code gone;
    const std::string inner = entry.path().filename().string();
    if (entry.is_directory(gone) && !entry.is_symlink(gone) && !inner.starts_with('.'))
      search(entry.path(), level == 0 ? inner : name + "/" + inner, level + 1, rows);
  }
}

}  // namespace

bool has_run_results(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / train::kHistoryFile, error) ||
         fs::is_regular_file(folder / train::kSummaryFile, error);
}

bool is_run(const fs::path& folder) {
  std::error_code error;
  return has_run_results(folder) || fs::is_regular_file(folder / train::kConfigFile, error) ||
         fs::is_regular_file(folder / train::kCheckpointsFolder / train::kManifestFile, error);
}

std::vector<RunRow> find_runs(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UserError("'" + folder.string() + "' " +
                    (fs::exists(folder, error) ? "is not a folder" : "does not exist"));
  std::vector<RunRow> rows;
  search(folder, folder.string(), 0, rows);
  std::sort(rows.begin(), rows.end(),
            [](const RunRow& a, const RunRow& b) { return a.name < b.name; });
  return rows;
}

}  // namespace shoal::app
