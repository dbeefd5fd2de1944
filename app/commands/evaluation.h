#pragma once
// Evaluates models on the images of --data or --val, for eval and average.

#include "app/commands/data/datasets.h"
#include "app/commands/weights.h"
#include "data/loader/loader.h"
#include "dist/connect.h"
#include "train/run/evaluate.h"
#include "train/step/device.h"

namespace shoal::app {

class Evaluation {
 public:
  // Connects the ranks. `arguments` must outlive it. Collective.
  Evaluation(const Arguments& arguments, const dist::Env& env);

  // Opens the images. `weights` gives the classes, the settings and, for a run with --val-split, the
  // images that it held out. Throws UserError if the data has other classes. Call before run().
  // Collective.
  void open(const Weights& weights);

  // Evaluates a model with the classes of the weights. Moves it to the device. Collective.
  train::EvaluationReport run(models::Classifier& model);

  void end() { communicator_.shutdown(); }  // call after the last run()
  const dist::Group& group() const { return communicator_.main; }
  const train::ResolvedJob& job() const { return job_; }

 private:
  const Arguments& arguments_;
  train::Gpus gpus_;
  dist::Communicator communicator_;
  Datasets datasets_;
  train::ResolvedJob job_;
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace shoal::app
