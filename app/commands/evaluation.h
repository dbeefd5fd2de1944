#pragma once
// Evaluates models on the images of --data or --val, for eval and average.

#include "app/commands/datasets.h"
#include "app/commands/weights.h"
#include "data/loader/loader.h"
#include "dist/connect.h"
#include "train/run/evaluate.h"

namespace shoal::app {

class Evaluation {
 public:
  // Connects the ranks and opens the images; `weights` gives the classes, the settings and, for a
  // run with --val-split, the images that it held out. Throws UserError if the data has other
  // classes. Collective.
  Evaluation(const Weights& weights, const Arguments& arguments, const dist::Env& env);

  // Evaluates a model with the classes of the weights. Moves it to the device. Collective.
  train::EvaluationReport run(models::Classifier& model);

  void end() { communicator_.shutdown(); }  // call after the last run()
  const train::ResolvedJob& job() const { return job_; }

 private:
  dist::Communicator communicator_;
  Datasets datasets_;
  train::ResolvedJob job_;
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace shoal::app
