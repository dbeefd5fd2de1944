#include "app/options/settings/saved_settings.h"

#include <algorithm>

#include "app/options/settings/implied_settings.h"
#include "base/hash.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr const char* kPlatform = "SageMaker";

constexpr const char* kImagesChanged =
    "the images have changed (or an older version also counted files that are not images). Restore "
    "them, or start a new run from the weights: --weights CHECKPOINT with another --output";

constexpr const char* kEpochChanged =
    "the length of an epoch has changed; restore --train-samples or --steps-per-epoch";

// Returns a hash of the class weights, to detect changes in the file of --class-weights, if any.
std::string hash_of(const std::vector<double>& weights) {
  if (weights.empty()) return "none";
  return hex(hash_bytes(weights.data(), weights.size() * sizeof(double)));
}

}  // namespace

std::vector<train::SavedSetting> settings_of(const train::ResolvedJob& job) {
  using train::MayDiffer;
  static const Arguments defaults;
  std::vector<train::SavedSetting> settings;
  for (const Option& option : options()) {
    if (!option.saving) continue;
    const std::string value = masked(option.resolved(job));
    if (value.empty()) continue;  // a file that is not given, such as --weights
    std::string name = option.name;
    std::replace(name.begin(), name.end(), '-', '_');
    settings.push_back(
        {name, value, option.saving->may_differ, option.saving->evaluation, option.saving->advice});
    settings.back().is_default =
        option.unset.empty() ? value == option.get(defaults)
                             : value == "none" || (!option.off.empty() && value == option.off);
  }
  if (job.open_ended)  // --max-steps is the length of the schedule
    settings.push_back(
        {"schedule_steps", std::to_string(job.total_steps), MayDiffer::always, false, ""});
  // These are facts about the data, not options. They come last: if they differ, a changed option
  // is often the cause and should be reported first.
  settings.push_back({"train_images", std::to_string(job.train_images), MayDiffer::never, false,
                      job.train_streamed ? kEpochChanged : kImagesChanged});
  const int64_t taken = job.global_batch_size * job.mix.images_per_row();
  settings.push_back({"images_per_step", std::to_string(taken), MayDiffer::never, false,
                      "--mixup-mode half reads two images per training sample; restore --mixup, "
                      "--cutmix and --mixup-mode"});
  if (!job.train_streamed)
    settings.push_back(
        {"epoch_steps", std::to_string(job.steps_per_epoch), MayDiffer::never, false,
         "restore --sharded, and resume with the same number of hosts and the same files on each "
         "host"});
  settings.push_back(
      {"class_weights_hash", hash_of(job.class_weights), MayDiffer::always, false, ""});
  settings.back().is_default = job.class_weights.empty();
  return settings;
}

void take_saved_settings(Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& saved,
                         size_t data_classes) {
  const auto named = [&arguments](const std::string& option) {
    if (!is_chosen(arguments, option)) return false;
    const std::string& origin = arguments.origins.at(option);
    // The checkpoint replaces --weights and also the settings that follow from --weights.
    if (origin == kCheckpointOrigin || origin.starts_with(kWeightsOrigin)) return false;
    if (option == "batch-size" && arguments.job.fit_batch_size) return false;
    // SageMaker's input mode FastFile turns forward-reads on. The checkpoint's value wins, so that
    // the image order does not change within a run.
    return option != "forward-reads" || origin != kPlatform;
  };
  for (const auto& [name, value] : saved) {
    const Option* option = find_option(arguments.command, name);
    if (!option || !option->saving || named(option->name)) continue;
    if (arguments.job.eval_only && !option->saving->evaluation) continue;
    if (option->name == "classes" && value == std::to_string(data_classes)) continue;
    // resolve() computes --accumulate from the two batch sizes.
    if (option->name == "accumulate" && named("batch-size") && named("global-batch-size")) continue;
    const auto& replacements = option->saving->replaced_by;
    if (std::any_of(replacements.begin(), replacements.end(), named)) continue;
    apply(arguments, option->name, value, kCheckpointOrigin);
    if (option->name != "lr") continue;
    arguments.job.scale_lr.reset();  // the saved learning rate is already scaled
    arguments.origins.erase("scale-lr");
  }
  // Unless the user gave a number, drops the batch size: resolve() computes it from the global one.
  if (!arguments.job.eval_only && arguments.job.global_batch_size && !named("batch-size")) {
    arguments.job.batch_size.reset();
    arguments.job.fit_batch_size = false;
    arguments.origins.erase("batch-size");
  }
}

}  // namespace shoal::app
