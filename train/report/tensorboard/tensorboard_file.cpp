// TensorBoard's event file. Its scalars are the numbers in history.jsonl. Every start of a run
// writes a new file. A resumed run begins this file with the earlier points up to the
// checkpoint: scalars from the history, images and histograms from the previous file. Then it
// removes the previous file. A run that starts from the beginning renames the previous file. So
// no point appears twice, even if the run was killed. A new container cannot remove the previous
// container's file from S3, but each file begins with a session start (first_records()): it makes
// TensorBoard hide the points of all earlier files.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/format/counted.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secrets.h"
#include "base/text.h"
#include "train/report/appended_file.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"
#include "train/report/tensorboard/event_records.h"
#include "train/report/utc_time.h"

namespace shoal::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "events.out.tfevents.";

// Names of a run's event files: kPrefix, a number and the run's suffix. The number is the time of
// creation in seconds since 1970, or larger if an earlier file already has that number. TensorBoard
// reads files in the order of their names. Several runs may share a folder outside of --output, so
// the suffix then contains a hash of --output.
class EventFileNames {
 public:
  explicit EventFileNames(const ResolvedJob& job) {
    const std::string output = real_path(job.output) / "";
    const std::string folder = real_path(job.tensorboard) / "";
    suffix_ = folder.starts_with(output) ? ".shoal" : "." + hex(hash_bytes(output)) + ".shoal";
  }

  std::string name(int64_t number) const {
    return std::string(kPrefix) + std::to_string(number) + suffix_;
  }

  // Returns the number in the name of one of the run's files; 0 for other files.
  int64_t number_of(const fs::path& path) const {
    const std::string name = path.filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(suffix_)) return 0;
    const std::string stem = name.substr(0, name.size() - suffix_.size());
    return parse_number<int64_t>(stem.substr(std::min(kPrefix.size(), stem.size()))).value_or(0);
  }

  // Returns the run's files in the folder, the newest last. Throws std::system_error if the folder
  // cannot be read. An empty list would be wrong: the caller would not remove the earlier files,
  // and their points would appear twice.
  std::vector<fs::path> files(const fs::path& folder) const {
    std::vector<fs::path> found;
    for (const auto& entry : entries_of(folder))
      if (number_of(entry.path()) > 0) found.push_back(entry.path());
    std::ranges::sort(found, {}, [this](const fs::path& path) { return number_of(path); });
    return found;
  }

 private:
  std::string suffix_;
};

// Appends the numbers in a JSON object to `values`. Adds `prefix` to their names.
void add_numbers(const std::string& prefix, const Json& object, NamedValues& values) {
  for (const auto& [key, value] : object.items())
    if (value.is_number()) values.emplace_back(prefix + key, value.get<double>());
}

class TensorboardFile final : public ReportSink {
 public:
  TensorboardFile(const ResolvedJob& job, std::string history)
      : job_(job), names_(job), history_(std::move(history)) {}

  void start(const RunStart& report) override;
  void step(const StepReport& report) override { add_row(history_row(report)); }
  void event(const Event& report) override {
    if (report.in_history) add_row(history_row(report));
  }
  void evaluation_progress(const EvaluationProgress& report) override {
    if (!report.utilization.empty()) add_row(history_row(report));
  }
  void evaluation(const EvaluationReport& report) override { add_row(history_row(report)); }
  void images(const ImageGrid& report) override { append(image_record(report)); }
  void histograms(int64_t step, const std::vector<Histogram>& report) override {
    append(histogram_record(step, report));
  }
  void end(const RunEnd& report) override {
    if (report.best)
      append(scalar_record(wall_time(), report.best->step.value_or(report.step),
                           {{"best/acc1", report.best->top1}}));
    append(hparams_end_record(report.outcome, wall_time()));
  }

 private:
  void add_row(const std::string& row) { append(row_record(wall_time(), Json::parse(row))); }
  void append(const std::string& records) {
    if (file_) file_->append(records);
  }
  std::string row_record(double time, const Json& row) const;
  std::string earlier_records(int64_t step, const std::vector<fs::path>& files) const;

  const ResolvedJob& job_;
  const EventFileNames names_;
  std::string history_;  // lines up to the checkpoint; emptied by start()
  std::vector<RateGroup> rates_;
  std::optional<AppendedFile> file_;  // empty before start()
};

// Returns the record of a line of the history; empty if the line has no values to plot.
std::string TensorboardFile::row_record(double time, const Json& row) const {
  const std::string event = row.at("event");
  // Rows of event "test" report the progress of an evaluation and all have the same step, so only
  // their utilization is plotted.
  const bool curves = event != "test";
  Json metrics = row;
  for (const char* counter : {"epoch", "step_in_epoch", "step", "correct1", "correct5", "images"})
    metrics.erase(counter);
  NamedValues values;
  if (curves) add_numbers(event + "/", metrics, values);
  if (const auto timing = row.find("timing"); timing != row.end()) {
    if (curves) add_numbers(event + "_timing/", *timing, values);
    if (const auto used = timing->find("utilization"); used != timing->end())
      add_numbers("utilization/", *used, values);
  }
  if (rates_.size() > 1 && row.contains("lr"))
    for (const RateGroup& group : rates_)
      values.emplace_back("learning_rate/" + group.name, group.scale * row.at("lr").get<double>());
  return values.empty() ? "" : scalar_record(time, row.at("step").get<int64_t>(), values);
}

// Returns the records up to `step`, the step of the checkpoint that the run resumes from. `files`:
// event files of earlier processes, newest last. The newest contains all records of the others.
std::string TensorboardFile::earlier_records(int64_t step,
                                             const std::vector<fs::path>& files) const {
  std::string records;
  std::set<int64_t> evaluated;
  int64_t damaged = 0;
  for (const std::string& line : split(history_, '\n')) {
    try {
      const Json row = parse_json<Json>(line);
      const int64_t at = row.at("step").get<int64_t>();
      records += row_record(parse_utc_time(row.value("time", "")).value_or(0), row);
      if (row.at("event").get<std::string>().starts_with("valid")) evaluated.insert(at);
    } catch (const Json::exception&) {  // not JSON, or not a row that shoal wrote
      ++damaged;
    }
  }
  if (damaged > 0)
    log::warning(std::string(kHistoryFile) + ": " + counted(damaged, "unreadable line") +
                 " ignored; TensorBoard's curves lack those values");
  if (step == 0 || files.empty()) return records;
  return records +
         kept_records(read_whole_file(files.back()), [&](const std::string& tag, int64_t of) {
           return tag.starts_with("valid") ? evaluated.contains(of) : of <= step;
         });
}

void TensorboardFile::start(const RunStart& report) {
  const fs::path folder = job_.tensorboard;
  create_folders(folder);
  // Removes temporary files of killed processes. The new file has another name, so no later write
  // would replace them.
  remove_parts(folder, [this](const fs::path& name) { return names_.number_of(name) > 0; });
  const std::vector<fs::path> previous = names_.files(folder);
  rates_ = report.rates;
  const std::string block = masked(
      "shoal " + job_.provenance.version + "\n" + job_.provenance.command + "\n" +
      start_block(job_, report.origin, report.kernels) + "\n" + settings_block(job_, /*all=*/true));
  std::string settings;
  for (const std::string& line : split(block, '\n')) settings += "    " + line + "\n";
  const auto now = static_cast<int64_t>(wall_time());
  const int64_t number =
      previous.empty() ? now : std::max(now, names_.number_of(previous.back()) + 1);
  file_.emplace(folder / names_.name(number),
                first_records() + earlier_records(report.step, previous) +
                    text_record("settings", settings) + hparams_record(job_.settings, wall_time()));
  history_.clear();
  for (const fs::path& file : previous) {
    if (report.step > 0)
      fs::remove(file);  // its records are in the new file
    else  // TensorBoard reads files whose names contain "tfevents". A crash may undo the renaming.
      fs::rename(file, folder / ("superseded-" + std::to_string(names_.number_of(file))));
  }
}

}  // namespace

std::unique_ptr<ReportSink> tensorboard_file(const ResolvedJob& job, const HistoryFile& history) {
  if (job.tensorboard.empty()) return nullptr;
  return std::make_unique<TensorboardFile>(job, history.text());
}

}  // namespace shoal::train
