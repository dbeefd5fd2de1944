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

// Sums over one batch, without gradients, with the model's running statistics; leaves the model in
// evaluation mode; of several views of an image the logits are averaged. `type`: what the model
// computes in. Unreadable images count as skipped. Not
// collective.
Meter evaluate_batch(models::Classifier& model, ops::Type type, const data::Batch& batch);

// More than 1 % of the images cannot be read.
struct TooManyUnreadable : std::runtime_error {
  using runtime_error::runtime_error;
};

// Sums over the whole set and all ranks, the same on each. Prints progress lines when `reporter` is
// given. `go_on`, when given, is called before each batch and must answer alike on every rank;
// false ends the evaluation (`stopped`). Collective. Throws std::runtime_error when there is
// no image, TooManyUnreadable on all ranks alike.
EvaluationReport evaluate(models::Classifier& model, ops::Type type, data::Loader& loader,
                          dist::Group& group, int64_t print_freq, Reporter* reporter,
                          const std::function<bool()>& go_on = {});

// Adds the meters of all ranks, in place. Collective.
void reduce(dist::Group& group, std::initializer_list<Meter*> meters);

}  // namespace shoal::train
