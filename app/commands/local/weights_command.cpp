// shoal weights: lists the weights that are known by name.
#include <cmath>
#include <filesystem>

#include "app/commands/local/local_commands.h"
#include "app/commands/local/selected_rows.h"
#include "app/commands/print_table.h"
#include "app/commands/printable_row.h"
#include "app/platform/failure.h"
#include "app/weights/known_weights.h"
#include "app/weights/remote_weights.h"
#include "base/json.h"
#include "base/log.h"

namespace shoal::app {
namespace {

struct Row {
  const KnownWeights* weights;
  RemoteFile file;   // the file in the preferred format
  std::string path;  // the file in the cache; empty: not downloaded
};

Row row_of(const KnownWeights& weights, const std::string& cache) {
  Row row{&weights, remote_weights(weights.name)->files.front(), ""};
  const std::filesystem::path path = std::filesystem::path(cache) / row.file.cached;
  std::error_code error;
  if (!cache.empty() && std::filesystem::is_regular_file(path, error)) row.path = path.string();
  return row;
}

// Whether `word` is the row's name, another spelling of that name, or the name of its model.
bool selects(const std::string& word, const Row& row) {
  if (word == row.weights->name || word == row.weights->model) return true;
  if (word.find(':') == word.npos || word.find("://") != word.npos) return false;
  const auto named = remote_weights(word);
  return named && named->files.front().url == row.file.url;
}

// Returns the rows that the user named. Each word is the whole name of weights or of a network, or
// else a part of a network's name. Without words, returns all rows.
std::vector<Row> rows_of(const Arguments& arguments) {
  std::vector<Row> all;
  for (const KnownWeights& weights : known_weights())
    all.push_back(row_of(weights, arguments.weights_cache));
  RowNames names;
  names.rows = all.size();
  names.matches = [&](const std::string& word, size_t row) { return selects(word, all[row]); };
  names.contains = [&](const std::string& word, size_t row) {
    return all[row].weights->model.find(word) != std::string::npos;
  };
  names.unknown = [&](const std::string& word) {
    const std::string near = nearest_weights(word);
    return UserError("no weights are known by the name '" + word + "'" +
                     (near.empty() ? "" : "; did you mean " + near + "?"));
  };
  std::vector<Row> rows;
  for (const size_t row : selected_rows(arguments.paths, names)) rows.push_back(all[row]);
  return rows;
}

nlohmann::ordered_json json_of(const Row& row) {
  const KnownWeights& weights = *row.weights;
  const auto or_null = [](const auto& value, bool known) {
    return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  return {{"name", weights.name},
          {"model", weights.model},
          {"acc1", weights.top1},
          {"acc5", weights.top5},
          {"size", weights.size},
          {"file_mb", std::round(100 * file_megabytes(weights)) / 100},
          {"license", weights.license},
          {"url", row.file.url},
          {"sha256_prefix", or_null(row.file.sha256, !row.file.sha256.empty())},
          {"cached", or_null(row.path, !row.path.empty())}};
}

std::string megabytes(const KnownWeights& weights) {
  return strf("%.1f MB", file_megabytes(weights));
}

void print_details(const Row& row, const std::string& cache) {
  const KnownWeights& weights = *row.weights;
  log::line("name      " + weights.name);
  log::line("model     " + weights.model);
  log::line(strf("accuracy  top-1 %.3f %%, top-5 %.3f %%, published for ImageNet at %ld px",
                 weights.top1, weights.top5, weights.size));
  log::line("file      " + megabytes(weights));
  log::line("license   " + weights.license);
  log::line("source    " + row.file.url);
  log::line("sha256    " +
            (row.file.sha256.empty() ? "sent by the server" : "begins with " + row.file.sha256));
  if (!row.path.empty())
    log::line(printable_row("cached    " + row.path));
  else
    log::line(printable_row(
        "cached    no" + (cache.empty() ? "" : "; its place is " + cache + "/" + row.file.cached)));
}

void list_weights(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    const KnownWeights& weights = *row.weights;
    const std::string& url = row.file.url;
    cells.push_back({weights.name, weights.model, strf("%.2f", weights.top1),
                     strf("%.2f", weights.top5), std::to_string(weights.size) + " px",
                     megabytes(weights), weights.license, row.path.empty() ? "no" : "yes",
                     url.substr(url.find("://") + 3)});
  }
  print_table({{"name"},
               {"model"},
               {"top-1", true},
               {"top-5", true},
               {"image", true},
               {"file", true},
               {"license"},
               {"cached"},
               {"source"}},
              cells);
}

}  // namespace

int weights_command(const Call& call) {
  const Arguments& arguments = call.arguments;
  const std::vector<Row> rows = rows_of(arguments);
  if (arguments.json) {
    auto json = nlohmann::ordered_json::array();
    for (const Row& row : rows) json.push_back(json_of(row));
    log::line(json_text(json, 2));
  } else if (rows.size() == 1) {
    print_details(rows.front(), arguments.weights_cache);
  } else {
    list_weights(rows);
  }
  return kOk;
}

}  // namespace shoal::app
