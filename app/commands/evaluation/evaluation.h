#pragma once
// Runs models on images: on labeled images (--data, --val) for eval and average, on images without
// labels for predict.

#include <functional>
#include <mutex>
#include <set>

#include "app/commands/inputs/datasets.h"
#include "app/commands/inputs/weights.h"
#include "data/loader/loader.h"
#include "dist/connect.h"
#include "train/run/evaluate.h"
#include "train/step/device.h"

namespace shoal::app {

// Collects a loader's messages about unreadable images. Thread-safe.
class DamageLog {
 public:
  void add(const std::string& sentence);
  // Returns the reason why the image `name` is unreadable; a general sentence if it is unknown.
  std::string reason(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> sentences_;  // "NAME: REASON"
};

class Evaluation {
 public:
  // Called on every rank after each batch, with null if this rank has no more images.
  using BatchDone = std::function<void(const train::BatchResult*)>;

  // Connects the ranks. `arguments` must outlive the object. Collective.
  Evaluation(const Arguments& arguments, const dist::Env& env);

  // Opens labeled images for run(), with the settings of `weights`. Uses the validation images that
  // the options name. If there are none and the weights come from a run with --val-split, uses the
  // training images that the run held out. Class names come from --classes, else from the weights,
  // else from the data. Throws UserError if the data's classes do not fit the weights. Collective.
  void open(const Weights& weights);

  // Opens images without labels, for classify(). Collective.
  void open(const Weights& weights, std::shared_ptr<const data::Dataset> images);

  // Evaluates a model, which must have the classes of the weights given to open(), on all images.
  // Moves the model to the device. Collective.
  train::EvaluationReport run(models::Classifier& model, const BatchDone& done = {});

  // Runs the model on all images. In each step, ranks 0, 1, … evaluate consecutive batches. Each
  // rank then calls `done` with its result, which is never null here. Rows that `done` gathers in
  // rank order are in the order of the images. Collective.
  void classify(models::Classifier& model, const BatchDone& done);

  // Returns the images at the positions `places` of report.images, with their names. Collective.
  std::vector<train::WorstImage> named(const train::EvaluationReport& report,
                                       const std::vector<size_t>& places) const {
    return train::named(communicator_.main, report.images, places, *loader_);
  }

  void end() { communicator_.shutdown(); }  // call after the last run()
  const dist::Group& group() const { return communicator_.main; }
  const dist::Communicator& communicator() const { return communicator_; }
  const train::ResolvedJob& job() const { return job_; }
  const data::Source& images() const { return *datasets_.val; }
  // Class names by label.
  const std::vector<std::string>& classes() const { return datasets_.val->classes(); }
  // Returns the name of an image that this rank evaluated. `image`: ImageResult::image.
  std::string name(int64_t image) const { return loader_->image_name(image); }
  const DamageLog& damage() const { return damage_; }

 private:
  void start(train::Job job);
  // For weights without class names, logs how to name the classes. Logs this only once.
  void advise_class_names(const Weights& weights);

  const Arguments& arguments_;
  train::Gpus gpus_;
  dist::Communicator communicator_;
  Datasets datasets_;
  train::ResolvedJob job_;
  std::vector<int32_t> subset_;  // labels that the model may predict; empty: all
  bool advised_class_names_ = false;
  DamageLog damage_;
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace shoal::app
