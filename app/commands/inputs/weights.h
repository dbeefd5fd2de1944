#pragma once
// The model that eval, predict, export and average use, with its evaluation settings.

#include <memory>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "base/error.h"
#include "data/data_options.h"
#include "dist/group.h"
#include "models/model.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/job/job.h"

namespace shoal::app {

struct Weights {
  std::unique_ptr<models::Classifier> model;  // in evaluation mode
  std::string file;                           // the file that was read
  std::string origin;                 // description for the log (OpenedCheckpoint::origin())
  std::vector<std::string> warnings;  // about the weights, for the log
  std::vector<std::string> classes;   // class names by label; empty if the file has none
  bool ema = false;                   // whether averaged weights (EMA) are used
  double val_split = 0;               // share of the training images that the run held out
  // The job from the options, with model and preprocessing filled in from the file. Options that
  // the user gave take precedence. For another program's file, the model's defaults are filled in.
  train::Job job;
  data::TransformOptions transform;  // for evaluation
  int64_t epoch = 0, step = 0;       // training progress; 0 if unknown
  std::string average_of;            // number of averaged checkpoints; empty: not an average
};

// Returns the function that turns --weights into a path and downloads the file if needed
// (app/weights/fetch.h). `arguments` must outlive the function.
train::LocalPath weights_finder(const Arguments& arguments);

// Reads --checkpoint or --weights. A file that shoal wrote contains the name of its network. For
// another program's file, the network is --model or, without --model, the network that fits the
// names and shapes of the tensors. Weights with a known name set --model (implied_settings.h).
// If the file contains averaged weights (EMA), reads them, unless --no-ema is given. Throws
// UserError if options and file do not fit, for example if --ema is given and the file has no
// averaged weights. Throws std::runtime_error if the file is damaged. Collective: rank 0 reads the
// file.
Weights open_weights(Arguments arguments, const dist::Group& group = {});
// Throws UserError unless exactly one of --checkpoint and --weights is given. Called by
// open_weights().
void require_weights(const Arguments& arguments);
// Whether `path` has the ending of a file of weights, or is a folder of a run.
bool looks_like_weights(const std::string& path);
// Returns an error about weights as the user should see it. Commands store a positional argument in
// job.weights, so the error may begin with "--weights ". Removes these words if the user did not
// write --weights.
UserError in_users_words(const Arguments& arguments, const UserError& error);

// Returns the name of the network for training from `weights`, which were read from `file`. A file
// that shoal wrote contains it. For another program's file, it is the network that the tensors
// resemble most. If they resemble none, throws UserError or, if `partial`, returns "".
std::string network_of(const train::CheckpointData& weights, const std::string& file, bool partial);

// Returns data for writing a model file, still without tensors: the network's name, preprocessing,
// classes and training progress of `weights`.
train::CheckpointData model_data(const Weights& weights);

// Logs the origin and the warnings. Call on rank 0.
void log_origin(const Weights& weights);

// Throws UserError unless `names`, a number of classes, equals the model's number of outputs.
// `source`: subject and verb for the message, such as "the data has".
void check_class_count(const Weights& weights, size_t names, const std::string& source);

// For weights with 1000 outputs and no class names, returns a message that suggests --classes.
// Otherwise returns "". `so`: what follows from the missing names, a part of the message.
std::string class_names_advice(const Weights& weights, const std::string& so);

// Replaces the class names of `weights` with those of --classes. Without --classes, weights of a
// known name (app/weights/known_weights.h) with 1000 outputs get ImageNet's names, and others keep
// theirs. Throws UserError if the number of names in --classes does not fit the model.
void take_class_names(const Arguments& arguments, Weights& weights);

}  // namespace shoal::app
