#include "app/options/advice.h"

#include <cmath>

#include "app/weights/remote_weights.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// short_run() does not check batch norm with at least this momentum: its running statistics match
// the data after a few dozen steps.
constexpr double kUsualMomentum = 0.1;
// Running statistics are useful once the initial values make up at most this share of them.
// Measured with MobileNetV3 Small on 600 images of four classes: at shares of 10, 5 and 1 %, the
// validation accuracy is 26, 40 and 59 %. After removing the initial values from the statistics, it
// is 43, 54 and 60 %.
constexpr double kLeft = 0.01;

// Returns the number of steps after which the initial values make up only the share kLeft of the
// running statistics.
int64_t steps_of_statistics(const train::ResolvedJob& run) {
  const double passes = std::log(kLeft) / std::log1p(-run.model_info.batch_norm_momentum);
  return static_cast<int64_t>(std::ceil(passes / static_cast<double>(run.accumulate)));
}

// Warns if the run is too short for the running statistics of batch norm, which start at mean 0 and
// variance 1. Evaluation uses these statistics, so its accuracy stays at chance level while the
// training loss falls.
std::string short_run(const Circumstances& circumstances) {
  const train::ResolvedJob& run = circumstances.run;
  if (circumstances.continued || !run.weights.empty() || run.freeze_bn) return "";
  if (run.model_info.batch_norm_momentum >= kUsualMomentum) return "";
  const int64_t needed = steps_of_statistics(run);
  if (run.last_step >= needed) return "";
  const std::string& model = run.model.name;
  return strf(
      "validation of %s will lag behind training, because the running statistics of its batch norm "
      "(momentum %g) need at least %ld steps and the run has %ld; train longer, or start with "
      "pretrained weights%s",
      model.c_str(), run.model_info.batch_norm_momentum, needed, run.last_step,
      first_weights_of(model) ? ": --weights pretrained" : " (--weights)");
}

}  // namespace

std::vector<std::string> advice(const Circumstances& circumstances) {
  const Arguments& arguments = circumstances.arguments;
  const train::ResolvedJob& run = circumstances.run;
  std::vector<std::string> sentences;
  if (run.eval_only) return sentences;
  if (run.model.classes == 1)
    sentences.emplace_back(
        "the training images have a single class, so every answer is right and the model learns "
        "nothing; give each class a folder of its own");
  const bool untouched = !arguments.origins.contains("lr") &&
                         !arguments.origins.contains("scale-lr") &&
                         !arguments.origins.contains("optimizer");
  if (untouched && run.model.name.starts_with("efficientnet"))
    sentences.emplace_back(
        "EfficientNet often fails to learn with the default --optimizer sgd --lr 0.1; use a recipe "
        "(`shoal train --recipe list`), or set --optimizer and --lr");
  if (std::string text = short_run(circumstances); !text.empty())
    sentences.push_back(std::move(text));
  return sentences;
}

}  // namespace shoal::app
