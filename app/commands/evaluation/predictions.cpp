#include "app/commands/evaluation/predictions.h"

#include <filesystem>

#include "app/commands/printable_row.h"
#include "base/json.h"
#include "base/log.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

// Returns a CSV field, quoted if necessary.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string line_of(const Json& json) {
  return json_text(json) + "\n";
}

}  // namespace

std::string rows_of(const train::BatchResult& batch,
                    const std::function<std::string(const train::ImageResult&,
                                                    std::span<const float> logits)>& make) {
  std::string text;
  const auto classes = static_cast<size_t>(batch.classes);
  const float* logits = batch.logits.data();
  for (const train::ImageResult& image : batch.images) {
    const size_t count = image.readable() ? classes : 0;
    text += make(image, {logits, count});
    logits += count;
  }
  return text;
}

PredictionRows::PredictionRows(const Arguments& arguments, const std::vector<std::string>& classes)
    : arguments_(arguments), classes_(classes) {}

std::string PredictionRows::header() const {
  if (!arguments_.csv) return "";
  return std::string("path,rank,class,probability,") + (arguments_.logits ? "logit," : "") +
         "error\n";
}

std::string PredictionRows::row(const std::string& path, std::span<const float> logits,
                                const std::string& error) const {
  std::vector<train::Guess> guesses;
  if (error.empty()) guesses = train::best_guesses(logits, arguments_.topk);
  const auto name = [&](const train::Guess& guess) {
    const auto label = static_cast<size_t>(guess.label);
    return label < classes_.size() ? classes_[label] : std::to_string(label);
  };
  if (arguments_.json) {
    Json json = {{"path", path}};
    if (!error.empty()) json["error"] = error;
    for (const train::Guess& guess : guesses) {
      auto& list = json["top" + std::to_string(arguments_.topk)];
      list.push_back({{"class", name(guess)}, {"probability", guess.probability}});
      if (arguments_.logits) list.back()["logit"] = guess.logit;
    }
    return line_of(json);
  }
  if (arguments_.csv) {
    // Escapes line breaks, although CSV allows them in quotes. Otherwise the part of a path after a
    // line break could look like another row.
    const std::string image = field(printable_row(path));
    std::string lines;
    for (size_t i = 0; i < guesses.size(); ++i) {
      const train::Guess& guess = guesses[i];
      lines += image + "," + std::to_string(i + 1) + "," + field(printable(name(guess))) +
               strf(",%.6f,", guess.probability) +
               (arguments_.logits ? strf("%.6f,", static_cast<double>(guess.logit)) : "") + "\n";
    }
    if (!error.empty())
      lines = image + ",,,," + (arguments_.logits ? "," : "") + field(printable(error)) + "\n";
    return lines;
  }
  std::string line = path + " ";
  if (!error.empty()) line += "  error: " + error;
  for (const train::Guess& guess : guesses)
    line += strf("  %s %.1f%%", name(guess).c_str(), 100 * guess.probability) +
            (arguments_.logits ? strf(" (%.3f)", static_cast<double>(guess.logit)) : "");
  return printable_row(line) + "\n";
}

PredictionFile::PredictionFile(const Arguments& arguments, const std::vector<std::string>& classes)
    : logits_(arguments.logits), classes_(classes) {
  const std::string& file = arguments.eval.predictions;
  const std::string ending = lower(std::filesystem::path(file).extension().string());
  csv_ = ending == ".csv";
  if (!csv_ && ending != ".jsonl" && ending != ".ndjson" && ending != ".json")
    throw UserError("--predictions " + file +
                    ": the ending selects the format; use .csv, or .jsonl for JSON lines");
}

std::string PredictionFile::header() const {
  if (!csv_) return "";
  std::string line = "path,label,class,loss";
  for (size_t i = 1; i <= train::ImageResult::kTop; ++i)
    line += strf(",predicted%zu,probability%zu", i, i);
  line += ",error";
  for (size_t i = 0; logits_ && i < classes_.size(); ++i) line += ",logit" + std::to_string(i);
  return line + "\n";
}

std::string PredictionFile::row(const std::string& path, const train::ImageResult& image,
                                std::span<const float> logits, const std::string& error) const {
  if (csv_) return csv(path, image, logits, error);
  Json json = {{"path", path}, {"label", image.label}, {"class", name(image.label)}};
  if (!image.readable()) {
    json["error"] = error;
    return line_of(json);
  }
  json["loss"] = image.loss;
  json["top5"] = Json::array();
  for (size_t i = 0; i < image.classes.size() && image.classes[i] >= 0; ++i)
    json["top5"].push_back({{"label", image.classes[i]},
                            {"class", name(image.classes[i])},
                            {"probability", image.probabilities[i]}});
  if (logits_) {
    json["logits"] = Json::array();
    for (const float logit : logits)
      json["logits"].push_back(logit <= train::kExcluded ? Json() : Json(logit));
  }
  return line_of(json);
}

std::string PredictionFile::csv(const std::string& path, const train::ImageResult& image,
                                std::span<const float> logits, const std::string& error) const {
  std::string line =
      field(path) + "," + std::to_string(image.label) + "," + field(name(image.label));
  const auto number = [](float value) { return strf(",%.9g", static_cast<double>(value)); };
  line += image.readable() ? number(image.loss) : ",";
  for (size_t i = 0; i < image.classes.size(); ++i)
    line += image.classes[i] < 0
                ? ",,"
                : "," + field(name(image.classes[i])) + number(image.probabilities[i]);
  line += "," + (image.readable() ? "" : field(error));
  if (logits_)
    for (size_t i = 0; i < classes_.size(); ++i)
      line += i < logits.size() && !(logits[i] <= train::kExcluded) ? number(logits[i]) : ",";
  return line + "\n";
}

}  // namespace shoal::app
