#include "app/report/evaluation.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "app/report/series.h"
#include "base/error.h"
#include "base/file/whole_file.h"
#include "train/report/sinks.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPairs = 50'000;
constexpr size_t kMaxWorst = 60;
constexpr size_t kMaxBins = 100;

// Returns `value` as a label. Throws std::invalid_argument unless 0 <= `value` < `classes`.
int64_t label(const Json& value, size_t classes) {
  require_valid(value.is_number_integer(), "a label is not a whole number");
  const auto number = value.get<int64_t>();
  require_valid(number >= 0 && static_cast<size_t>(number) < classes,
                "label " + std::to_string(number) + " is not one of its classes");
  return number;
}

Json confusion(const Json& pairs, size_t classes, std::vector<std::string>& notes) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> counts;
  for (const Json& pair : pairs)
    counts.emplace_back(pair.at(2).get<int64_t>(), label(pair.at(0), classes),
                        label(pair.at(1), classes));
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });
  if (counts.size() > kMaxPairs) {
    notes.push_back("the confusion matrix shows the " + std::to_string(kMaxPairs) + " largest of " +
                    std::to_string(counts.size()) + " entries");
    counts.resize(kMaxPairs);
  }
  Json flat = Json::array();
  for (const auto& [count, truth, predicted] : counts) {
    flat.push_back(truth);
    flat.push_back(predicted);
    flat.push_back(count);
  }
  return flat;
}

Json chart_number_of(const Json& value) {
  return value.is_number() ? chart_number(value.get<double>()) : Json();
}

Json per_class(const Json& list, size_t classes) {
  require_valid(list.size() == classes, "per_class and classes have different lengths");
  Json columns = {{"images", Json::array()},
                  {"precision", Json::array()},
                  {"recall", Json::array()},
                  {"f1", Json::array()}};
  for (const Json& row : list)
    for (auto& column : columns.items())
      column.value().push_back(chart_number_of(row.at(column.key())));
  return columns;
}

Json calibration(const Json& from) {
  Json bins = Json::array();
  for (const Json& bin : from.at("bins")) {
    if (bins.size() == kMaxBins) break;
    bins.push_back({chart_number_of(bin.at("confidence")), chart_number_of(bin.at("accuracy")),
                    chart_number_of(bin.at("images"))});
  }
  return {{"ece", chart_number_of(from.at("ece"))}, {"bins", bins}};
}

Json worst(const Json& list, size_t classes) {
  Json images = Json::array();
  for (const Json& from : list) {
    if (images.size() == kMaxWorst) break;
    Json image = {{"path", from.at("path").get<std::string>()},
                  {"label", label(from.at("label"), classes)},
                  {"predicted", label(from.at("predicted"), classes)},
                  {"probability", chart_number_of(from.at("probability"))},
                  {"loss", chart_number_of(from.at("loss"))}};
    const std::string thumbnail = from.value("thumbnail", "");
    if (!thumbnail.empty()) image["image"] = "data:image/jpeg;base64," + thumbnail;
    images.push_back(std::move(image));
  }
  return images;
}

Json evaluation(const Json& from, std::vector<std::string>& notes) {
  require_valid(from.is_object(), "it is not a JSON object");
  require_valid(from.at("format") == 1, "this version of shoal reads format 1 only");
  const auto classes = from.at("classes").get<std::vector<std::string>>();
  Json json;
  for (const char* name : {"images", "top1", "top5", "loss", "epoch", "step"})
    json[name] = from.contains(name) && from[name].is_number() ? from[name] : Json();
  json["ema"] = from.value("ema", false);
  json["classes"] = classes;
  json["confusion"] = confusion(from.at("confusion"), classes.size(), notes);
  json["per_class"] = per_class(from.at("per_class"), classes.size());
  if (from.contains("calibration")) json["calibration"] = calibration(from["calibration"]);
  if (from.contains("worst")) json["worst"] = worst(from["worst"], classes.size());
  return json;
}

}  // namespace

Json read_evaluation(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const std::filesystem::path file = folder / train::kEvaluationFile;
  if (!std::filesystem::is_regular_file(file)) {
    notes.push_back(
        "there is no evaluation.json, so accuracy per class, confusion and the images with the "
        "highest loss are left out; write it with `shoal eval --checkpoint RUN --data DATA "
        "--output RUN`");
    return nullptr;
  }
  try {
    const std::vector<char> bytes = read_whole_file(file);
    return evaluation(parse_json<Json>({bytes.data(), bytes.size()}), notes);
  } catch (const std::exception& error) {
    notes.push_back(std::string("evaluation.json was left out: ") + error.what());
    return nullptr;
  }
}

}  // namespace shoal::app
