#include "app/report/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "app/report/json_lines.h"
#include "app/report/series.h"
#include "base/error.h"
#include "train/report/epochs/run_history.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;
using Row = nlohmann::json;

constexpr size_t kMaxEvents = 1000;
constexpr size_t kMaxText = 500;
constexpr size_t kMaxList = 64;

class History {
 public:
  void add(const Row& row);
  void add_event(const Row& row);
  // Whether events.jsonl contains events. Then add() skips their copies in history.jsonl.
  bool has_event_file = false;
  bool empty() const { return rows_ == 0; }
  Json json() const;

 private:
  // From the epoch's last rows in history.jsonl. `step` counts from the start of the run, `steps`
  // from the start of the epoch. step_seconds and data_seconds are averages per step; val_seconds
  // is the sum over the epoch's evaluations. NaN: unknown.
  struct EpochTimes {
    double step = kMissing, steps = 0;
    double step_seconds = 0, data_seconds = 0;
    double val_seconds = 0;
  };

  void add_train(const Row& row, double time, EpochTimes* epoch);
  void add_valid(const Row& row, double time, EpochTimes* epoch, bool ema);
  void add_utilization(const Row& from, double time);
  double since_start(const Row& row);
  double active_seconds() const;
  Json epochs() const;
  Json phases() const;

  Series train_, valid_, valid_ema_, utilization_;
  train::EpochCollector values_;
  std::map<int64_t, EpochTimes> epochs_;  // by epoch number; the same epochs as in values_
  std::vector<Json> events_;
  std::map<double, double> sessions_;  // start time of each session → time of its last row
  double start_ = kMissing;            // time of the first row
  double last_step_ = 0;
  std::string trained_;  // time of the last training row, ISO 8601
  int64_t rows_ = 0;
};

// Returns the seconds from the first row to this row; NaN if the row has no time. Also extends the
// row's session: the rows from one start or resume of the run to the next.
double History::since_start(const Row& row) {
  const double time = time_of(row);
  if (std::isnan(time)) return kMissing;
  if (std::isnan(start_)) start_ = time;
  const std::string name = text_in(row, "event");
  if (sessions_.empty() || name == "start" || name == "resume") sessions_.emplace(time, time);
  auto session = sessions_.upper_bound(time);
  if (session != sessions_.begin()) --session;
  session->second = std::max(session->second, time);
  return time - start_;
}

// `epoch`: null if the row belongs to none.
void History::add_train(const Row& row, double time, EpochTimes* epoch) {
  trained_ = text_in(row, "time");
  const Row timing = row.value("timing", Row::object());
  if (!timing.is_object()) return;
  const double step_seconds = number_or_missing(timing, "step");
  const double data_seconds = number_or_missing(timing, "data");
  train_.add({{"step", last_step_},
              {"time", time},
              {"loss", number_or_missing(row, "loss")},
              {"acc1", number_or_missing(row, "acc1")},
              {"lr", number_or_missing(row, "lr")},
              {"grad_norm", number_or_missing(row, "grad_norm")},
              {"images_per_sec", number_or_missing(timing, "images_per_sec")},
              {"wait", step_seconds > 0 ? 100 * data_seconds / step_seconds : kMissing}});
  if (!epoch) return;
  epoch->step = last_step_;
  epoch->steps = number_or_missing(row, "step_in_epoch");
  epoch->step_seconds = number_or_missing(timing, "step_average");
  epoch->data_seconds = number_or_missing(timing, "data_average");
}

void History::add_valid(const Row& row, double time, EpochTimes* epoch, bool ema) {
  const Row timing = row.value("timing", Row::object());
  const double seconds = timing.is_object() ? number_or_missing(timing, "seconds") : kMissing;
  (ema ? valid_ema_ : valid_)
      .add({{"step", last_step_},
            {"time", time},
            {"loss", number_or_missing(row, "loss")},
            {"acc1", number_or_missing(row, "acc1")},
            {"acc5", number_or_missing(row, "acc5")}});
  if (epoch) {
    epoch->step = last_step_;  // the last steps of the epoch may have no row
    if (seconds > 0) epoch->val_seconds += seconds;
  }
  if (!ema && number_or_missing(row, "unreadable") > 0)
    events_.push_back({{"at", text_in(row, "time")},
                       {"time", chart_number(time)},
                       {"step", last_step_},
                       {"name", "unreadable_validation"},
                       {"values", {{"images", row["unreadable"]}}}});
}

void History::add_utilization(const Row& from, double time) {
  const auto found = from.find("utilization");
  if (found == from.end() || !found->is_object()) return;
  std::vector<std::pair<std::string, double>> values = {{"step", last_step_}, {"time", time}};
  flatten("", *found, values);
  utilization_.add(values);
}

void History::add(const Row& row) {
  ++rows_;
  const std::string name = text_in(row, "event");
  const double time = since_start(row), step = number_or_missing(row, "step");
  if (step >= 0) last_step_ = step;
  add_utilization(row, time);
  if (const auto timing = row.find("timing"); timing != row.end() && timing->is_object())
    add_utilization(*timing, time);
  const std::optional<int64_t> number = values_.add(row);
  EpochTimes* const epoch = number ? &epochs_[*number] : nullptr;
  if (name == "train")
    add_train(row, time, epoch);
  else if (name == "valid" || name == "valid_ema")
    add_valid(row, time, epoch, name == "valid_ema");
  else if (!name.empty() && name != "test" && name != "utilization" && !has_event_file)
    add_event(row);
}

void History::add_event(const Row& row) {
  Json values = Json::object();
  for (const auto& item : row.items()) {
    const Row& value = item.value();
    if (item.key() == "event" || item.key() == "step" || item.key() == "time") continue;
    if (value.is_string())
      values[item.key()] = value.get<std::string>().substr(0, kMaxText);
    else if (!value.is_structured() || value.size() <= kMaxList)
      values[item.key()] = value;
  }
  events_.push_back({{"at", text_in(row, "time")},
                     {"time", chart_number(since_start(row))},
                     {"step", chart_number(number_or_missing(row, "step"))},
                     {"name", text_in(row, "event").substr(0, kMaxText)},
                     {"values", std::move(values)}});
}

double History::active_seconds() const {
  double seconds = 0;
  for (const auto& [start, end] : sessions_) seconds += end - start;
  return seconds;
}

Json History::epochs() const {
  Json list = Json::array();
  const std::vector<train::EpochValues> epochs = values_.epochs();
  const std::optional<size_t> best = train::best_epoch(epochs);
  const auto number = [](std::optional<double> value) {
    return chart_number(value.value_or(kMissing));
  };
  for (const train::EpochValues& e : epochs) {
    const EpochTimes& times = epochs_.at(e.epoch);
    const double wait =
        times.step_seconds > 0 ? 100 * times.data_seconds / times.step_seconds : kMissing;
    list.push_back({{"epoch", e.epoch + 1},
                    {"step", chart_number(times.step)},
                    {"best", best && e.epoch == epochs[*best].epoch},
                    {"deciding_acc1", number(e.deciding_top1())},
                    {"loss", number(e.train_loss)},
                    {"acc1", number(e.train_top1)},
                    {"val_loss", number(e.loss)},
                    {"val_acc1", number(e.top1)},
                    {"val_acc5", number(e.top5)},
                    {"ema_loss", number(e.ema_loss)},
                    {"ema_acc1", number(e.ema_top1)},
                    {"lr", number(e.lr)},
                    {"images_per_sec", number(e.speed.images_per_second())},
                    {"wait", chart_number(wait)},
                    {"train_seconds", chart_number(times.step_seconds * times.steps)},
                    {"val_seconds", chart_number(times.val_seconds)}});
  }
  return list;
}

Json History::phases() const {
  double computing = 0, waiting = 0, evaluating = 0;
  for (const auto& [number, e] : epochs_) {
    if (e.step_seconds > 0 && e.data_seconds >= 0) {
      waiting += e.data_seconds * e.steps;
      computing += (e.step_seconds - e.data_seconds) * e.steps;
    }
    evaluating += e.val_seconds;
  }
  const double rest = active_seconds() - computing - waiting - evaluating;
  return {{"computing", chart_number(computing)},
          {"waiting", chart_number(waiting)},
          {"evaluating", chart_number(evaluating)},
          {"rest", chart_number(std::max(0.0, rest))}};
}

Json History::json() const {
  double steps_per_epoch = 0;
  for (const auto& [number, epoch] : epochs_)
    steps_per_epoch = std::max(steps_per_epoch, epoch.steps);
  std::vector<Json> events = events_;
  std::stable_sort(events.begin(), events.end(), [](const Json& a, const Json& b) {
    return a["at"].get<std::string>() < b["at"].get<std::string>();
  });
  const size_t more = events.size() - std::min(events.size(), kMaxEvents);
  events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(more));
  Json json = {{"trained", trained_},    {"train", train_.json()},
               {"valid", valid_.json()}, {"valid_ema", valid_ema_.json()},
               {"epochs", epochs()},     {"steps_per_epoch", steps_per_epoch},
               {"phases", phases()},     {"events", events},
               {"events_left_out", more}};
  if (utilization_.rows() > 0) json["utilization"] = utilization_.json();
  return json;
}

}  // namespace

Json read_history(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const std::filesystem::path file = folder / train::kHistoryFile;
  if (!std::filesystem::is_regular_file(file))
    throw UserError(folder.string() + " has no " + train::kHistoryFile +
                    "; name the --output folder of `shoal train`");
  History history;
  const auto keep = [&](std::vector<std::string> more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  keep(read_rows(folder / train::kEventsFile, [&](const Row& row) {
    history.has_event_file = true;
    history.add_event(row);
  }));
  keep(read_rows(file, [&](const Row& row) { history.add(row); }));
  if (history.empty()) notes.push_back("history.jsonl has no rows yet");
  return history.json();
}

}  // namespace shoal::app
