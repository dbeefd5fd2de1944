#pragma once
// Exact evaluation: every image of the set counts exactly once, whatever the world size is.

#include <functional>
#include <initializer_list>
#include <stdexcept>

#include "data/loader/loader.h"
#include "dist/group.h"
#include "models/model.h"
#include "ops/ops.h"
#include "train/report/report.h"

namespace shoal::train {

// Evaluates one batch of this rank and returns the sums of its metrics. If the batch has several
// views of each image, averages their logits. Counts unreadable images as skipped. `type`: element
// type of the activations. Switches the model to evaluation mode.
Meter evaluate_batch(models::Classifier& model, ops::Type type, const data::Batch& batch);

// Thrown if there are no images, or if more than 1 % of them are unreadable.
struct EvaluationFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

struct EvaluationHooks {
  // Called before each batch. Must return the same on every rank; false ends the evaluation.
  std::function<bool()> keep_going = {};
  // Called with sums over all ranks every `print_freq` batches and, if the number of batches is
  // known, after the last one. The sum over ranks is collective, so set it on every rank or on
  // none.
  std::function<void(EvaluationProgress)> progress = {};
  int64_t print_freq = 10;
};

// Evaluates the whole set. The result is a sum over all ranks, the same on each; its epoch and step
// are not set. Collective. Throws EvaluationFailed on all ranks.
EvaluationReport evaluate(models::Classifier& model, ops::Type type, data::Loader& loader,
                          dist::Group& group, const EvaluationHooks& hooks = {});

// Sums each meter over all ranks, in place. Collective.
void reduce(dist::Group& group, std::initializer_list<Meter*> meters);

}  // namespace shoal::train
