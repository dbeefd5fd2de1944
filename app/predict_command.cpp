#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/datasets.h"
#include "app/machine.h"
#include "app/session.h"
#include "app/weights.h"
#include "data/errors.h"
#include "data/limits.h"
#include "data/transform.h"
#include "train/checkpoint_store.h"
#include "train/input.h"
#include "train/log.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using train::strf;

struct Guess {
  std::string name;
  double probability = 0;
};

struct Prediction {
  std::string path;
  std::string error;           // why there are no guesses
  std::vector<Guess> guesses;  // best first
};

// Folders stand for the files in them, sorted.
std::vector<std::string> pictures(const std::vector<std::string>& paths) {
  if (paths.empty())
    throw train::UserError("predict needs at least one picture or folder after the options");
  std::vector<std::string> files;
  for (const auto& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().filename().string().front() != '.')
        inside.push_back(entry.path().string());
    }
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) throw train::UserError("there is no file in " + path);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Prediction predict(Weights& weights, data::Transform& transform, const std::string& path) {
  Prediction prediction{path, "", {}};
  const int64_t size = weights.transform.eval_size;
  std::vector<uint8_t> pixels(static_cast<size_t>(size * size * 3));
  try {
    if (!fs::exists(path)) throw data::DamagedPicture("there is no such file or folder");
    if (fs::file_size(path) > static_cast<uintmax_t>(data::kMaxFileBytes))
      throw data::DamagedPicture("larger than any picture");
    const auto bytes = train::read_whole_file(path);
    transform.evaluation_row({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                             pixels.data());
  } catch (const data::MissingLibrary&) {
    throw;                                     // not this picture's fault
  } catch (const std::runtime_error& error) {  // damaged, or cannot be read
    prediction.error = error.what();
    return prediction;
  }
  data::Row row;
  data::Batch batch{.images = pixels.data(),
                    .rows = {&row, 1},
                    .capacity = 1,
                    .count = 1,
                    .height = size,
                    .width = size};
  const auto input = train::make_input(batch, ops::Type::f32, at::kCPU);
  const auto probabilities = at::softmax(weights.model->forward(input.images, {}), 1);
  const auto count = std::min<int64_t>(5, probabilities.size(1));
  const auto [values, labels] = at::topk(probabilities, count, 1);
  for (int64_t i = 0; i < count; ++i) {
    const auto label = labels[0][i].item<int64_t>();
    const bool named = label < static_cast<int64_t>(weights.classes.size());
    prediction.guesses.push_back(
        {named ? weights.classes[static_cast<size_t>(label)] : std::to_string(label),
         values[0][i].item<double>()});
  }
  return prediction;
}

nlohmann::ordered_json to_json(const Prediction& prediction) {
  nlohmann::ordered_json json = {{"path", prediction.path}};
  if (!prediction.error.empty()) json["error"] = prediction.error;
  for (const auto& guess : prediction.guesses)
    json["top5"].push_back({{"class", guess.name}, {"probability", guess.probability}});
  return json;
}

// A field of a CSV line, quoted where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void print(const Arguments& arguments, const Prediction& prediction) {
  if (arguments.json)
    return train::log::line(
        to_json(prediction).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!prediction.error.empty())
    return train::log::error(prediction.path + ": " + prediction.error);
  if (arguments.csv) {
    for (size_t i = 0; i < prediction.guesses.size(); ++i) {
      const auto& guess = prediction.guesses[i];
      train::log::line(strf("%s,%zu,%s,%.6f", field(prediction.path).c_str(), i + 1,
                            field(guess.name).c_str(), guess.probability));
    }
    return;
  }
  std::string line = prediction.path + " ";
  for (const auto& guess : prediction.guesses)
    line += strf("  %s %.1f%%", guess.name.c_str(), 100 * guess.probability);
  train::log::line(line);
}

}  // namespace

int predict_command(const Arguments& arguments) {
  begin(arguments.job, dist::Env{});
  at::set_num_threads(arguments.job.threads.value_or(usable_processors()));
  const auto files = pictures(arguments.paths);
  Weights weights = open_weights(arguments);
  if (const std::string& names = arguments.job.classes_file; !names.empty()) {
    weights.classes = read_class_names(names);
    check_class_count(weights, weights.classes.size(), "--classes " + names + " names");
  }
  train::log::info(weights.origin);
  data::Transform transform(weights.transform);
  at::NoGradGuard no_grad;
  if (arguments.csv && !arguments.json) train::log::line("path,rank,class,probability");
  bool all_read = true;
  for (const auto& path : files) {
    const Prediction prediction = predict(weights, transform, path);
    all_read &= prediction.error.empty();
    print(arguments, prediction);
  }
  train::log::require_lines_written();
  return all_read ? 0 : 1;
}

}  // namespace shoal::app
