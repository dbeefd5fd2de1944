#include "app/commands/evaluation/evaluation.h"

#include <algorithm>

#include "app/commands/inputs/evaluated_classes.h"
#include "app/commands/session.h"
#include "app/platform/failure.h"
#include "app/weights/imagenet_classes.h"
#include "base/log.h"
#include "data/dataset.h"
#include "train/job/rank_loader_options.h"

namespace shoal::app {

void DamageLog::add(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  sentences_.insert(sentence);
}

std::string DamageLog::reason(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const std::string start = name + ": ";
  const auto found = sentences_.lower_bound(start);
  return found != sentences_.end() && found->starts_with(start) ? found->substr(start.size())
                                                                : "the image cannot be read";
}

Evaluation::Evaluation(const Arguments& arguments, const dist::Env& env)
    : arguments_(arguments),
      gpus_(train::claim_gpu(arguments.job, env.local_rank)),
      communicator_(connect_ranks(arguments.job, gpus_, env, std::make_shared<dist::Progress>(),
                                  [](const std::string& text) {
                                    fail_now(reporting(dist::environment()), kPeerLost, text);
                                  })) {}

void Evaluation::open(const Weights& weights) {
  train::Job job = weights.job;
  if (!job.cache_dir) job.cache_dir = "";  // these commands have no --output folder for a cache
  // The data may have only some of the classes that --classes names. open_datasets() might require
  // all of them, so clear the option. folder_names() below applies it.
  job.classes_file.clear();
  const DataPlaces places = find_data(job);
  take_held_out(job, places, weights.val_split, communicator_.rank() == 0);
  if (job.val_split == 0 && is_on_command_line(arguments_, "train"))
    throw UserError(
        "--train has no effect here without --val-split; give the images with --val PATH");
  const auto known = folder_names(arguments_, weights);
  datasets_ = open_datasets(job, places, /*with_train=*/false, known, communicator_);
  if (known.empty()) datasets_.val = with_labels_of(weights, datasets_.val);
  if (known.empty() && arguments_.command == Command::eval) advise_class_names(weights);
  if (weights.val_split > 0 && job.val_split == 0)
    log::info(
        "evaluating the images in " + datasets_.val_source +
        strf(", not the training images that the run held out (--val-split %g); for those, use "
             "--train PATH instead of --data or --val",
             weights.val_split));
  check_class_count(weights, classes().size(), "the data has");
  subset_ = subset_of(arguments_, *datasets_.val, communicator_.main);
  start(job);
}

void Evaluation::advise_class_names(const Weights& weights) {
  if (advised_class_names_ || classes() == imagenet_synsets()) return;
  const std::string advice = class_names_advice(
      weights, data::are_numbers(classes())
                   ? "classes are printed as numbers"
                   : "its outputs are assumed to be the images' classes, sorted by name");
  if (advice.empty()) return;
  log::info(advice);
  advised_class_names_ = true;
}

void Evaluation::open(const Weights& weights, std::shared_ptr<const data::Dataset> images) {
  train::Job job = weights.job;
  constexpr int64_t kLargest = 32;  // larger batches are not faster
  if (!job.batch_size)
    job.batch_size = std::clamp<int64_t>(images->size() / communicator_.size(), 1, kLargest);
  datasets_.val = std::move(images);
  start(job);
}

void Evaluation::start(train::Job job) {
  loader_.reset();  // frees its memory before the new loader allocates
  job_ = resolve_job(job, gpus_, datasets_, communicator_);
  const auto on_bad = [this](const std::string& sentence) {
    damage_.add(sentence);
    // predict prints the reason in the row of the image.
    if (arguments_.command != Command::predict) log::warning(sentence);
  };
  loader_ = std::make_unique<data::Loader>(
      datasets_.val, train::rank_loader_options(job_, communicator_.rank(), /*train=*/false),
      on_bad, train::batch_memory(job_));
}

train::EvaluationReport Evaluation::run(models::Classifier& model, const BatchDone& done) {
  train::move_to(model, train::device_of(job_));
  int64_t batch = 0;
  const auto show = [&] {
    if (communicator_.rank() == 0)
      log::status(strf("evaluating: batch %ld of %ld", ++batch, loader_->batches_per_epoch()));
    return true;
  };
  train::WorstPixels worst(job_.transform);
  train::EvaluationHooks hooks{.keep_going = show, .batch = done, .subset = subset_};
  if (!arguments_.eval.output.empty()) hooks.worst = &worst;
  const auto report = train::evaluate(model, ops::Type::f32, *loader_, communicator_.main, hooks);
  log::status("");
  return report;
}

void Evaluation::classify(models::Classifier& model, const BatchDone& done) {
  train::move_to(model, train::device_of(job_));
  communicator_.main.enter(dist::Phase::evaluating);
  loader_->start_epoch(0);
  for (int64_t i = 0; i < loader_->batches_per_epoch(); ++i) {
    const data::Batch* batch = nullptr;
    {
      const auto reading = communicator_.main.during(dist::Phase::reading);
      batch = loader_->next();
    }
    const train::BatchResult result = train::evaluate_batch(model, ops::Type::f32, *batch);
    done(&result);
  }
}

}  // namespace shoal::app
