#include "train/resume.h"

#include <torch/version.h>

#include <algorithm>
#include <span>

#include "train/export.h"
#include "train/log.h"

namespace shoal::train {

CheckpointData snapshot(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                        const std::vector<std::string>& classes) {
  CheckpointData data;
  trainer.save(data);
  data.integers["epoch"] = position.epoch;
  data.integers["step_in_epoch"] = position.step_in_epoch;
  data.integers["step"] = position.step;
  data.integers["samples"] = position.step * job.global_batch_size;
  data.integers["non_finite"] = position.non_finite;
  data.integers["non_finite_in_a_row"] = position.non_finite_in_a_row;
  data.integers["history_lines"] = position.history_lines;
  data.integers["evaluation_pending"] = position.evaluation_pending;
  data.integers["epoch_over"] = position.epoch_over;
  data.integers["world_size"] = job.world_size;
  data.integers["threads"] = job.threads;
  data.integers["val_size"] = job.eval_size;
  data.integers["val_resize"] = job.eval_resize;
  data.integers["classes"] = job.job.model.classes;
  const auto sum = position.epoch_sum.values();
  for (size_t i = 0; i < sum.size(); ++i) data.numbers["epoch_sum_" + std::to_string(i)] = sum[i];
  if (position.best_top1) data.numbers["best_top1"] = *position.best_top1;
  data.text["arch"] = job.job.model.name;
  data.text["interpolation"] =
      job.eval_interpolation == data::Interpolation::bicubic ? "bicubic" : "bilinear";
  data.text["kernels"] = ops::cpu().name;
  data.text["torch"] = TORCH_VERSION;
  data.classes = classes;
  data.settings = job.settings();
  return data;
}

void start_from(Trainer& trainer, const CheckpointData& weights, const ResolvedJob& job) {
  const auto check = [](const std::string& what, const std::string& theirs,
                        const std::string& ours) {
    if (theirs == ours) return;
    throw UserError("--weights: they are for " + what + " " + theirs + ", this run has " + ours);
  };
  check("--model", weights.string("arch"), job.job.model.name);
  check("--classes", std::to_string(weights.integer("classes")),
        std::to_string(job.job.model.classes));
  CheckpointData data;
  data.model = data.ema = finished_weights(weights);
  trainer.load(data, /*weights_only=*/true);
}

namespace {

// Settings without which "the same run, continued" has no meaning.
const char* const kFixed[] = {"model",      "classes", "train_images", "global_batch_size",
                              "accumulate", "seed",    "optimizer"};
// Of these, the ones that evaluation needs too.
const char* const kFixedForEvaluation[] = {"model", "classes"};

bool holds(std::span<const char* const> names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

void compare_settings(const CheckpointData& data, const ResolvedJob& job,
                      const std::function<void(const std::string&)>& warn) {
  std::string changed;
  const auto now = job.settings();
  for (const auto& [name, was] : data.settings) {
    const auto it = std::find_if(now.begin(), now.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    if (it == now.end() || it->second == was) continue;
    if (job.job.eval_only && !holds(kFixedForEvaluation, name)) continue;
    if (holds(kFixed, name)) {
      std::string advice = "give the setting it was made with, or start anew in another --output";
      if (name == "global_batch_size") {
        advice = "add --global-batch-size " + was +
                 " (any world size that divides it continues the same run)";
      }
      throw UserError("the checkpoint was made with " + name + " " + was + ", this run has " +
                      it->second + "; " + advice);
    }
    changed += (changed.empty() ? "" : ", ") + name + " " + was + " → " + it->second;
  }
  if (!changed.empty()) warn("continuing with other settings than the checkpoint's: " + changed);
  const bool same =
      data.integer("world_size") == job.world_size && data.integer("threads") == job.threads &&
      data.string("kernels") == ops::cpu().name && data.string("torch") == TORCH_VERSION;
  if (!same) {
    warn(
        strf("the checkpoint was made with %lld process(es) of %lld thread(s), %s kernels, torch "
             "%s; the same pictures follow "
             "in the same order, but results may differ in the last bits",
             static_cast<long long>(data.integer("world_size")),
             static_cast<long long>(data.integer("threads")), data.string("kernels").c_str(),
             data.string("torch").c_str()));
  }
}

}  // namespace

Position restore(Trainer& trainer, const CheckpointData& data, const ResolvedJob& job,
                 const std::function<void(const std::string&)>& warn) {
  compare_settings(data, job, warn);
  trainer.load(data, job.job.eval_only);
  Position position;
  position.epoch = data.integer("epoch");
  position.step_in_epoch = data.integer("step_in_epoch");
  position.step = data.integer("step");
  position.non_finite = data.integer("non_finite");
  position.non_finite_in_a_row = data.integer("non_finite_in_a_row");
  position.history_lines = data.integer("history_lines");
  position.evaluation_pending = data.integer("evaluation_pending") != 0;
  position.epoch_over = data.integers.contains("epoch_over") && data.integer("epoch_over") != 0;
  double sum[Meter::kValues];
  for (int i = 0; i < Meter::kValues; ++i) sum[i] = data.number("epoch_sum_" + std::to_string(i));
  position.epoch_sum = Meter::from(sum);
  if (data.numbers.count("best_top1")) position.best_top1 = data.number("best_top1");
  return position;
}

}  // namespace shoal::train
