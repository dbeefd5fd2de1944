#pragma once
// A checkpoint as eval and predict use it: the model in evaluation mode, and the settings it was
// evaluated with.

#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "models/model.h"
#include "train/job.h"

namespace shoal::app {

struct Weights {
  std::unique_ptr<models::Classifier> model;
  std::string file;                  // what was read
  std::vector<std::string> classes;  // label → name
  bool ema = false;                  // the averaged weights were taken
  int64_t epoch = 0, step = 0;       // epochs and updates done when they were saved
  double val_split = 0;              // share of its training images that the run held out
  train::Job job;  // the given job with model, classes and picture size from the checkpoint
  // Of evaluation: job.val_size and job.interpolation win over the checkpoint's.
  data::TransformOptions transform;

  std::string origin() const;  // "weights of FILE (epoch 3, update 1234), averaged (EMA)"
};

// Reads job.checkpoint; the averaged weights where it has them. Throws UserError,
// std::runtime_error.
Weights open_weights(const train::Job& job);

}  // namespace shoal::app
