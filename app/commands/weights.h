#pragma once
// The model that eval and predict use, with the settings it was evaluated with.

#include <memory>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "data/data_options.h"
#include "models/model.h"
#include "train/run/job.h"

namespace shoal::app {

struct Weights {
  std::unique_ptr<models::Classifier> model;  // in evaluation mode
  std::string file;                           // what was read
  std::string origin;                         // for the log: OpenedCheckpoint::origin()
  std::vector<std::string> classes;           // label → name; empty: another program's file
  bool ema = false;                           // the averaged weights were taken
  double val_split = 0;                       // share of its training images that the run held out
  // The given job with model and image size of the weights. --val-size and --interpolation win; of
  // files that do not name these, the model's own count.
  train::Job job;
  data::TransformOptions transform;  // of evaluation
};

// Reads --checkpoint, or --weights for the network that the file or --model names. Throws UserError,
// std::runtime_error.
Weights open_weights(const Arguments& arguments);

// Throws UserError unless `names`, the classes of `whose`, are as many as the model's outputs.
void check_class_count(const Weights& weights, size_t names, const std::string& whose);

}  // namespace shoal::app
