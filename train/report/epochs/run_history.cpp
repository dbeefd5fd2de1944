#include "train/report/epochs/run_history.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/file/json_lines.h"
#include "base/format/counted.h"
#include "base/text.h"

namespace shoal::train {
namespace {

using Json = nlohmann::json;

constexpr double kMostEpochs = 1e9;

std::string cell(const std::optional<double>& value, int width, int digits) {
  const auto columns = static_cast<size_t>(width);
  if (!value) return std::string(columns - 1, ' ') + "-";
  const std::string text = strf("%*.*f", width, digits, *value);
  return text.size() > columns || text[0] != ' ' ? strf("%*.3g", width, *value) : text;
}

std::string line_of(const EpochValues& e, bool with_ema, bool best) {
  std::string line = strf("%5ld", e.epoch) + cell(e.train_loss, 12, 4) + cell(e.loss, 10, 4) +
                     cell(e.top1, 9, 3) + cell(e.top5, 9, 3);
  if (with_ema) line += cell(e.ema_top1, 11, 3);
  return line + cell(e.speed.images_per_second(), 11, 1) + (best ? "  best" : "");
}

}  // namespace

std::optional<int64_t> EpochCollector::add(const Json& row) {
  const std::string event = text_in(row, "event");
  if (event != "train" && event != "valid" && event != "valid_ema") return std::nullopt;
  const double number = number_in(row, "epoch").value_or(-1);
  if (!(number >= 0 && number < kMostEpochs)) return std::nullopt;
  const auto epoch = static_cast<int64_t>(number);
  EpochValues& values = epochs_[epoch];
  values.epoch = epoch;
  if (event == "train") {
    values.train_loss = number_in(row, "loss_average");
    values.train_top1 = number_in(row, "acc1_average");
    values.lr = number_in(row, "lr");
    if (const auto timing = row.find("timing"); timing != row.end())
      values.speed.add(number_in(row, "step_in_epoch"), number_in(*timing, "images_per_sec"));
  } else if (event == "valid") {
    values.loss = number_in(row, "loss");
    values.top1 = number_in(row, "acc1");
    values.top5 = number_in(row, "acc5");
  } else {
    values.ema_loss = number_in(row, "loss");
    values.ema_top1 = number_in(row, "acc1");
    values.ema_top5 = number_in(row, "acc5");
  }
  return epoch;
}

std::vector<EpochValues> EpochCollector::epochs() const {
  std::vector<EpochValues> list;
  for (const auto& [number, values] : epochs_) list.push_back(values);
  return list;
}

RunHistory read_history(const std::string& text) {
  EpochCollector collector;
  RunHistory history;
  std::istringstream lines(text);
  const LeftOutLines left_out = read_json_lines(lines, [&](const Json& row) {
    collector.add(row);
    std::string time = text_in(row, "time");
    if (time.empty()) return;
    if (text_in(row, "event") == "train") history.last_train_time = time;
    history.last_time = std::move(time);
  });
  history.epochs = collector.epochs();
  history.torn = left_out.torn;
  history.unreadable = left_out.damaged;
  return history;
}

void MeanSpeed::add(std::optional<double> step_in_epoch, std::optional<double> images_per_second) {
  if (!images_per_second || !(*images_per_second > 0)) return;
  // A row counts as one step if its step number is missing or is not above the previous one.
  const bool advances = step_in_epoch && *step_in_epoch > last_step_;
  const double steps = advances ? *step_in_epoch - last_step_ : 1;
  last_step_ = step_in_epoch.value_or(last_step_);
  steps_ += steps;
  seconds_ += steps / *images_per_second;
}

std::optional<double> MeanSpeed::images_per_second() const {
  return seconds_ > 0 ? std::optional(steps_ / seconds_) : std::nullopt;
}

std::optional<size_t> best_epoch(const std::vector<EpochValues>& epochs) {
  std::optional<size_t> best;
  for (size_t i = 0; i < epochs.size(); ++i) {
    const auto top1 = epochs[i].deciding_top1();
    if (top1 && (!best || *top1 > *epochs[*best].deciding_top1())) best = i;
  }
  return best;
}

std::string epoch_table_text(const std::vector<EpochValues>& epochs, size_t most) {
  const bool with_ema = std::any_of(epochs.begin(), epochs.end(),
                                    [](const EpochValues& e) { return e.ema_top1.has_value(); });
  const auto best = best_epoch(epochs);
  const size_t first = epochs.size() > most ? epochs.size() - most : 0;
  std::string text = std::string("epoch  train loss  val loss    top-1    top-5") +
                     (with_ema ? "  EMA top-1" : "") + "   images/s";
  if (best && *best < first) text += "\n" + line_of(epochs[*best], with_ema, true);
  if (first > 0) text += "\n  ...  (" + counted(first, "epoch") + ", see history.jsonl)";
  for (size_t i = first; i < epochs.size(); ++i)
    text += "\n" + line_of(epochs[i], with_ema, best == i);
  return text;
}

}  // namespace shoal::train
