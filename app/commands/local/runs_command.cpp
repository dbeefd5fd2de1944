// shoal runs: lists the runs in a folder.
#include <algorithm>
#include <cmath>

#include "app/commands/local/local_commands.h"
#include "app/commands/local/run_list.h"
#include "app/commands/print_table.h"
#include "app/platform/failure.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

// Sorts by name, model or state in ascending order, by a number or the time in descending order.
// Runs without the number or time come last.
void sort_by(const std::string& column, std::vector<RunRow>& rows) {
  const auto by = [&](auto less) { std::stable_sort(rows.begin(), rows.end(), less); };
  const auto by_number = [&](std::optional<double> RunRow::*number) {
    by([number](const RunRow& a, const RunRow& b) {
      return a.*number && (!(b.*number) || *(a.*number) > *(b.*number));
    });
  };
  if (column == "name") by([](const auto& a, const auto& b) { return a.name < b.name; });
  if (column == "model") by([](const auto& a, const auto& b) { return a.model < b.model; });
  if (column == "state") by([](const auto& a, const auto& b) { return a.state < b.state; });
  if (column == "time") by([](const auto& a, const auto& b) { return a.time > b.time; });
  if (column == "top1") by_number(&RunRow::top1);
  if (column == "epochs") by_number(&RunRow::epochs);
  if (column == "speed") by_number(&RunRow::images_per_second);
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}
Json or_null(const std::string& value) {
  return value.empty() ? Json() : Json(value);
}

Json json_of(const RunRow& row) {
  return {{"name", row.name},
          {"model", or_null(row.model)},
          {"best_acc1", or_null(row.top1)},
          {"epochs", or_null(row.epochs)},
          {"epochs_requested", or_null(row.epochs_requested)},
          {"images_per_sec", or_null(row.images_per_second)},
          {"state", row.state},
          {"time", or_null(row.time)},
          {"notes", row.notes}};
}

// Returns the number of epochs with one decimal. Does not round an unfinished epoch up to a
// finished one.
std::string epochs_text(double epochs) {
  const double tenths = std::round(10 * epochs), whole = std::ceil(epochs);
  return strf("%g", (epochs < whole ? std::min(tenths, 10 * whole - 1) : tenths) / 10);
}

void list_runs(const std::vector<RunRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const RunRow& row : rows) {
    std::string epochs = row.epochs ? epochs_text(*row.epochs) : "-";
    if (row.epochs_requested) epochs += strf("/%g", *row.epochs_requested);
    cells.push_back({row.name, row.model.empty() ? "-" : row.model,
                     row.top1 ? strf("%.3f", *row.top1) : "-", epochs,
                     row.images_per_second ? strf("%.1f", *row.images_per_second) : "-", row.state,
                     row.time.substr(0, 16)});
  }
  print_table({{"name"},
               {"model"},
               {"best top-1", true},
               {"epochs", true},
               {"images/s", true},
               {"state"},
               {"time (UTC)"}},
              cells);
}

}  // namespace

int runs_command(const Call& call) {
  const Arguments& arguments = call.arguments;
  if (arguments.paths.empty())
    throw UserError("shoal runs needs a folder, such as `shoal runs runs`");
  std::vector<RunRow> rows;
  for (const std::string& folder : arguments.paths) {
    std::vector<RunRow> found = find_runs(folder);
    if (found.empty()) log::warning(folder + " contains no run");
    for (RunRow& row : found) {
      if (arguments.paths.size() > 1 && row.name != folder) row.name = folder + "/" + row.name;
      for (const std::string& note : row.notes) log::warning(row.name + ": " + note);
      rows.push_back(std::move(row));
    }
  }
  sort_by(arguments.sort, rows);
  if (arguments.json) {
    Json list = Json::array();
    for (const RunRow& row : rows) list.push_back(json_of(row));
    log::line(json_text(list, 2));
  } else {
    list_runs(rows);
  }
  return kOk;
}

}  // namespace shoal::app
