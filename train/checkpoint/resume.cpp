#include "train/checkpoint/resume.h"

#include <torch/version.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <unordered_map>

#include "base/format/counted.h"
#include "base/log.h"
#include "base/text.h"
#include "data/dataset.h"
#include "models/catalogue.h"
#include "train/checkpoint/changed_settings.h"
#include "train/checkpoint/imagenet_example.h"
#include "train/step/kernels_name.h"
#include "train/weights/adapt_weights.h"
#include "train/weights/preprocessing.h"

namespace shoal::train {

namespace {

constexpr const char* kWithoutEffect = "settings_without_effect";  // entry of a checkpoint

// Describes how the data's classes, `ours`, differ from `theirs`; empty if they are equal. `there`
// names the origin of `theirs`: "in the checkpoint".
std::string changed_classes(const std::vector<std::string>& theirs, const std::string& there,
                            const std::vector<std::string>& ours) {
  if (theirs == ours) return "";
  const std::string names = data::class_difference(theirs, there, ours, "in the data");
  return names.empty() ? "the data's classes are in another order than " + there
                       : "classes " + names;
}

// Returns why the classifier does not match this run's classes; empty if it matches. Compares the
// number of classes and, unless another program wrote the file, the class names. `classifier`:
// names of the classifier's tensors. With --load-partial, `tensors` may lack some of them.
std::string other_classes(const CheckpointData& weights, const NamedTensors& tensors,
                          const std::span<const std::string> classifier, const ResolvedJob& job,
                          const std::vector<std::string>& classes) {
  for (const auto& [name, value] : tensors) {
    if (std::ranges::find(classifier, name) != classifier.end() && value.dim() > 0 &&
        value.size(0) != job.model.classes)
      return strf("they are for %s, this run has %ld", counted(value.size(0), "class").c_str(),
                  job.model.classes);
  }
  if (weights.classes.empty()) return "";
  return changed_classes(weights.classes, "in the weights", classes);
}

// If the classifier in `tensors` is for other classes, replaces it by a new one and calls `warn`.
// With --eval-only, throws UserError instead, which names `file`. The new classifier is all zeros,
// because gradients that pass through a randomly initialized one would spoil the pretrained layers
// before it.
void keep_own_classifier(const Trainer& trainer, const CheckpointData& weights,
                         const std::string& file, const ResolvedJob& job,
                         const std::vector<std::string>& classes, NamedTensors& tensors,
                         const std::function<void(const std::string&)>& warn) {
  const FlatParameters& own = trainer.parameters();
  // The last two parameters of every model are the classifier's weight and bias.
  const auto first = own.names().end() - 2;
  const std::string why = other_classes(weights, tensors, {first, own.names().end()}, job, classes);
  if (why.empty()) return;
  if (job.eval_only)
    throw UserError("--weights " + file + ": " + why +
                    ", so there is no trained classifier to evaluate. Use data with the classes "
                    "of the weights");
  warn("--weights: " + why + ": training starts with a new classifier");
  for (auto name = first; name != own.names().end(); ++name) {
    for (auto& [theirs, value] : tensors) {
      if (theirs == *name) value = own.contiguous_copy(*name).zero_();
    }
  }
}

}  // namespace

CheckpointData snapshot(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                        const std::vector<std::string>& classes) {
  CheckpointData data;
  trainer.save_tensors(data);
  put_scalars(trainer, position, job, classes, data);
  return data;
}

void put_scalars(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                 const std::vector<std::string>& classes, CheckpointData& data) {
  data.integers.clear();
  data.numbers.clear();
  data.text.clear();
  data.settings.clear();
  trainer.save_counts(data);
  write_position(position, data);
  data.integers["samples"] = position.step * job.global_batch_size * job.mix.images_per_row();
  data.integers["world_size"] = job.world_size;
  data.integers["threads"] = job.threads;
  data::TransformOptions evaluation = job.transform;
  evaluation.interpolation = job.val_interpolation;
  put_preprocessing(evaluation, job.crop_pct, data);
  data.integers["classes"] = job.model.classes;
  data.text["arch"] = job.model.name;
  data.text["kernels"] = kernels_of(job);
  data.text["torch"] = TORCH_VERSION;
  data.classes = classes;
  std::vector<std::string> without_effect;
  for (const SavedSetting& setting : job.settings) {
    data.settings.emplace_back(setting.name, setting.value);
    if (!setting.effective) without_effect.push_back(setting.name);
  }
  data.text[kWithoutEffect] = joined(without_effect, ",");
}

std::vector<std::string> settings_without_effect(const CheckpointData& data) {
  const auto names = data.text.find(kWithoutEffect);
  return names == data.text.end() ? std::vector<std::string>{} : split(names->second, ',');
}

namespace {

// Adds the trainer's own tensor to `tensors` for each tensor that the file lacks or has in another
// shape. Reports these tensors to `warn`.
void fill_misfits(const Trainer& trainer, const AdaptedWeights& adapted, NamedTensors& tensors,
                  const std::function<void(const std::string&)>& warn) {
  CheckpointData own;
  trainer.save_tensors(own);
  const std::unordered_map<std::string, at::Tensor> by_name(own.model.begin(), own.model.end());
  for (const Misfit& misfit : adapted.fit.misfits)
    tensors.emplace_back(misfit.wanted.name, by_name.at(misfit.wanted.name));
  const std::vector<std::string> skipped = sentences(adapted.fit.misfits);
  std::string text = strf("--load-partial: %zu of %zu tensors taken from the weights",
                          adapted.fit.taken.size(), tensors.size());
  if (!skipped.empty()) text += strf("; %zu start anew: ", skipped.size()) + first_of(skipped);
  warn(text);
  for (const auto& [name, stored] : adapted.fit.taken)
    log::debug("--load-partial: taken: " + name + (name == stored ? "" : " (" + stored + ")"));
  for (const std::string& sentence : skipped) log::debug("--load-partial: skipped: " + sentence);
  for (const std::string& name : adapted.fit.unused) log::debug("--load-partial: unused: " + name);
}

// Throws UserError if the file lacks a frozen parameter, because it would stay random.
void require_frozen_weights(const Fit& fit, const models::Network& network,
                            const ResolvedJob& job) {
  for (const models::Parameter& parameter : network.parameters) {
    if (parameter.traits.stage >= job.frozen_stages) continue;
    for (const Misfit& misfit : fit.misfits)
      if (misfit.wanted.name == parameter.name)
        throw UserError("--freeze " + job.freeze + ": the file lacks a tensor that fits " +
                        parameter.name +
                        ", so this frozen layer would stay random; freeze fewer stages");
  }
}

// Loads start.weights, of another run or program, into a fresh trainer (see load_start()).
void start_from(Trainer& trainer, const Start& start, const ResolvedJob& job,
                const std::vector<std::string>& classes,
                const std::function<void(const std::string&)>& warn) {
  const CheckpointData& weights = *start.weights;
  const std::string option = "--weights " + start.weights_file + ": ";
  const auto arch = weights.text.find("arch");  // missing in files of other programs
  if (arch != weights.text.end() && arch->second != job.model.name && !job.load_partial)
    throw UserError(option + "they are for " + arch->second + ", but this run trains " +
                    job.model.name + "; add --model " + arch->second);
  const bool partial = job.load_partial && !job.eval_only;
  CheckpointData data;
  try {
    const models::Network network = models::make_network(job.model);
    const AdaptedWeights adapted = adapt_weights(weights, network, partial);
    if (arch == weights.text.end()) log::info("weights " + adapted.note);
    for (const std::string& warning : adapted.warnings) warn("--weights: " + warning);
    data.model = adapted.tensors;
    const std::string note = nonfinite_note(data.model);
    if (!note.empty() && !job.eval_only) throw UserError(note);
    if (!note.empty()) warn(option + note);
    if (partial) {
      require_frozen_weights(adapted.fit, network, job);
      fill_misfits(trainer, adapted, data.model, warn);
    }
  } catch (const UserError& error) {
    throw UserError(option + error.what());
  }
  fit_channels(data.model, trainer.parameters().names().front(), job.model.channels);
  keep_own_classifier(trainer, weights, start.weights_file, job, classes, data.model, warn);
  data.ema = data.model;
  trainer.load(data, /*weights_only=*/true);
}

// Warns if changed settings make the learning rate jump. For example, if a finished run gets more
// epochs, its cosine schedule rises again. Compares the last step's learning rate with the one that
// the new settings give for the same step, so drops within the schedule cause no warning.
void warn_of_jump(const CheckpointData& data, const ResolvedJob& job,
                  const std::function<void(const std::string&)>& warn) {
  constexpr double kJump = 2;
  const auto was = data.numbers.find("lr");  // missing in older checkpoints
  const int64_t step = data.integer("step");
  if (was == data.numbers.end() || was->second <= 0 || job.eval_only) return;
  if (step >= job.last_step || step == 0 || job.time_budget > 0) return;
  const double now = learning_rate(job, step - 1, /*progress=*/0);
  if (now <= kJump * was->second && was->second <= kJump * now) return;
  warn(strf(
      "the new settings change the learning rate from %.3g to %.3g; restore --lr, --epochs and "
      "the schedule's options to continue as before",
      was->second, now));
}

void compare(const CheckpointData& data, const ResolvedJob& job,
             const std::function<void(const std::string&)>& warn) {
  const Position position = read_position(data);
  const bool within_epoch = position.step_in_epoch > 0 && !epoch_complete(position, job);
  const std::string changed =
      changed_settings(data.settings, settings_without_effect(data), within_epoch, job);
  if (!changed.empty()) {
    warn("changed: " + changed);
    warn_of_jump(data, job, warn);
  }
  const bool same =
      data.integer("world_size") == job.world_size && data.integer("threads") == job.threads &&
      data.string("kernels") == kernels_of(job) && data.string("torch") == TORCH_VERSION;
  if (!same) {
    warn(
        strf("the checkpoint was made with %s of %s, %s kernels, torch "
             "%s; %s",
             counted(data.integer("world_size"), "process").c_str(),
             counted(data.integer("threads"), "thread").c_str(), data.string("kernels").c_str(),
             data.string("torch").c_str(),
             job.ranks_have_own_images()
                 ? "each rank reads its own images, so the run continues with different images"
                 : "the same images follow in the same order, but results may differ: in the last "
                   "bits or, with another number of processes, through batch norm"));
  }
}

}  // namespace

Position restore(Trainer& trainer, const CheckpointData& data, const ResolvedJob& job,
                 const std::vector<std::string>& classes,
                 const std::function<void(const std::string&)>& warn) {
  if (is_imagenet_example(data)) return restore_imagenet_example(trainer, data, job, warn);
  const std::string other = changed_classes(data.classes, "in the checkpoint", classes);
  if (!other.empty())
    throw UserError(other +
                    "; --resume needs the classes that the run began with. Restore the names of "
                    "the class folders, or start anew from the weights: --weights CHECKPOINT with "
                    "another --output");
  compare(data, job, warn);
  trainer.load(data, job.eval_only);
  return read_position(data);
}

Position load_start(Trainer& trainer, const Start& start, const ResolvedJob& job,
                    const std::vector<std::string>& classes, bool leader) {
  const auto warn = [&](const std::string& text) {
    if (leader) log::warning(text);
  };
  if (start.weights) start_from(trainer, start, job, classes, warn);
  return start.data ? restore(trainer, *start.data, job, classes, warn) : Position{};
}

}  // namespace shoal::train
