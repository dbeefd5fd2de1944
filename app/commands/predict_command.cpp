// shoal predict: classifies images.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>

#include <algorithm>

#include "app/commands/commands.h"
#include "app/commands/data/datasets.h"
#include "app/commands/session.h"
#include "app/commands/weights.h"
#include "app/launch/machine.h"
#include "base/json.h"
#include "base/log.h"
#include "data/errors.h"
#include "data/folder/images.h"
#include "data/image/transform.h"
#include "train/step/input.h"

namespace shoal::app {
namespace {

struct Guess {
  std::string name;
  double probability = 0, logit = 0;
};

struct Prediction {
  std::string path;
  std::string error;           // why the image has no guesses
  std::vector<Guess> guesses;  // best first
};

std::shared_ptr<const data::Dataset> open_sources(const Arguments& arguments) {
  if (arguments.paths.empty())
    throw UserError(
        "predict needs at least one image, folder, tar, packed set or record file after the "
        "options");
  data::OpenOptions options;
  options.tfrecord_keys = arguments.job.tfrecord_keys;
  options.warning = log::warning;
  return data::open_images(arguments.paths, options);
}

class Predictor {
 public:
  Predictor(Weights& weights, int64_t topk)
      : weights_(weights),
        transform_(weights.transform),
        views_(data::count_of(weights.transform.eval_views)),
        topk_(topk),
        pixels_(static_cast<size_t>(views_ * weights.transform.eval_size *
                                    weights.transform.eval_size * weights.transform.channels)) {}

  Prediction predict(const data::Dataset& images, int64_t sample) {
    Prediction prediction{images.name(sample), "", {}};
    try {
      images.read(sample, bytes_);
      transform_.evaluation_row(bytes_, pixels_.data());
    } catch (const data::MissingLibrary&) {
      throw;                                     // affects every image
    } catch (const std::runtime_error& error) {  // damaged or unreadable
      prediction.error = error.what();
      return prediction;
    }
    prediction.guesses = guesses();
    return prediction;
  }

 private:
  // Returns the top classes for the image in pixels_.
  std::vector<Guess> guesses() {
    const int64_t size = weights_.transform.eval_size;
    data::Row row;
    data::Batch batch{.images = pixels_.data(),
                      .rows = {&row, 1},
                      .capacity = 1,
                      .count = 1,
                      .height = size,
                      .width = size,
                      .views = views_,
                      .channels = weights_.transform.channels,
                      .normalization = weights_.transform.normalization};
    const auto input = train::make_input(batch, ops::Type::f32, at::kCPU);
    const auto logits = weights_.model->forward(input.images, {}).mean(at::IntArrayRef{0});
    const auto probabilities = at::softmax(logits, 0);
    const auto count = std::min(topk_, logits.size(0));
    // Equal scores: lower class first, as accuracy counts them.
    const auto [values, labels] = at::sort(logits, /*stable=*/true, 0, /*descending=*/true);
    std::vector<Guess> list;
    for (int64_t i = 0; i < count; ++i) {
      const auto label = labels[i].item<int64_t>();
      const bool named = label < static_cast<int64_t>(weights_.classes.size());
      list.push_back({named ? weights_.classes[static_cast<size_t>(label)] : std::to_string(label),
                      probabilities[label].item<double>(), values[i].item<double>()});
    }
    return list;
  }

  Weights& weights_;
  data::Transform transform_;
  const int64_t views_, topk_;
  std::vector<uint8_t> bytes_, pixels_;
};

nlohmann::ordered_json to_json(const Arguments& arguments, const Prediction& prediction) {
  nlohmann::ordered_json json = {{"path", prediction.path}};
  if (!prediction.error.empty()) json["error"] = prediction.error;
  for (const auto& guess : prediction.guesses) {
    auto& list = json["top" + std::to_string(arguments.topk)];
    list.push_back({{"class", guess.name}, {"probability", guess.probability}});
    if (arguments.logits) list.back()["logit"] = guess.logit;
  }
  return json;
}

// A CSV field, quoted if necessary.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void print(const Arguments& arguments, const Prediction& prediction) {
  if (arguments.json)
    return log::line(to_json(arguments, prediction)
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!prediction.error.empty()) return log::error(prediction.path + ": " + prediction.error);
  if (arguments.csv) {
    for (size_t i = 0; i < prediction.guesses.size(); ++i) {
      const auto& guess = prediction.guesses[i];
      log::line(strf("%s,%zu,%s,%.6f", field(prediction.path).c_str(), i + 1,
                     field(guess.name).c_str(), guess.probability) +
                (arguments.logits ? strf(",%.6f", guess.logit) : ""));
    }
    return;
  }
  std::string line = prediction.path + " ";
  for (const auto& guess : prediction.guesses)
    line += strf("  %s %.1f%%", guess.name.c_str(), 100 * guess.probability) +
            (arguments.logits ? strf(" (%.3f)", guess.logit) : "");
  log::line(printable(line));
}

}  // namespace

int predict_command(const Arguments& arguments) {
  begin(arguments.job, dist::Env{});
  at::set_num_threads(arguments.job.threads.value_or(usable_processors()));
  if (arguments.csv && arguments.json) throw UserError("--csv and --json are both set; omit one");
  const auto images = open_sources(arguments);
  Weights weights = open_weights(arguments);
  take_class_names(arguments, weights);
  log_origin(weights);
  Predictor predictor(weights, arguments.topk);
  at::NoGradGuard no_grad;
  if (arguments.csv)
    log::line(std::string("path,rank,class,probability") + (arguments.logits ? ",logit" : ""));
  bool all_read = true;
  for (int64_t sample = 0; sample < images->size(); ++sample) {
    const Prediction prediction = predictor.predict(*images, sample);
    all_read &= prediction.error.empty();
    print(arguments, prediction);
  }
  return all_read ? 0 : 1;
}

}  // namespace shoal::app
