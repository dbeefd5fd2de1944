#pragma once
// Exact evaluation: every image of the set counts once, at any world size.

#include <functional>
#include <initializer_list>
#include <stdexcept>

#include "data/loader/loader.h"
#include "dist/group.h"
#include "models/model.h"
#include "ops/ops.h"
#include "train/report/report.h"

namespace shoal::train {

// Sums over one batch of this rank, without gradients, with the model's running statistics. Averages
// the logits if the batch has several views of each image. Counts unreadable images as skipped.
// `type`: the type that the model computes in. Leaves the model in evaluation mode.
Meter evaluate_batch(models::Classifier& model, ops::Type type, const data::Batch& batch);

// More than 1 % of the images cannot be read.
struct TooManyUnreadable : std::runtime_error {
  using runtime_error::runtime_error;
};

struct EvaluationHooks {
  // Called before each batch; must return the same on every rank. False ends the evaluation.
  std::function<bool()> keep_going = {};
  // Called every `print_freq` batches and after the last one where their number is known, with sums
  // over all ranks. Collective: set on every rank or on none.
  std::function<void(EvaluationProgress)> progress = {};
  int64_t print_freq = 10;
};

// Sums over the whole set and all ranks, the same on each. Fills in neither epoch nor step.
// Collective. Throws std::runtime_error if there is no image, TooManyUnreadable on all ranks.
EvaluationReport evaluate(models::Classifier& model, ops::Type type, data::Loader& loader,
                          dist::Group& group, const EvaluationHooks& hooks = {});

// Adds the meters of all ranks, in place. Collective.
void reduce(dist::Group& group, std::initializer_list<Meter*> meters);

}  // namespace shoal::train
