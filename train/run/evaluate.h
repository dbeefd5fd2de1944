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
#include "train/run/run_images.h"

namespace shoal::train {

struct BatchResult {
  Meter meter;                      // unreadable images count as skipped
  std::vector<ImageResult> images;  // one per row; ImageResult::rank is not set
  std::vector<float> logits;        // matrix of readable rows × classes
  int64_t classes = 0;              // 0 if no row is readable
};

// Cause and remedy of scores that are not finite, for messages.
inline constexpr const char* kDiverged =
    "the weights have diverged, are damaged, or were trained for too few steps; train with a lower "
    "--lr, or for more steps";

// Evaluates one batch on this rank. Averages the logits of an image's views if there are several.
// `type`: element type of the activations. `subset`: labels that the model may predict; empty: all.
// Switches the model to evaluation mode.
BatchResult evaluate_batch(models::Classifier& model, ops::Type type, const data::Batch& batch,
                           const std::vector<int32_t>& subset = {});

// Thrown if there are no images, or if more than 1 % of them are unreadable.
struct EvaluationFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

struct EvaluationHooks {
  // Called before each batch. Must return the same value on every rank; false ends the evaluation.
  // If this hook is set, a stop signal also ends the wait for a batch.
  std::function<bool()> keep_going = {};
  // Called every `print_freq` batches and, if the number of batches is known, after the last one.
  // Set this hook on every rank or on none, because summing its metrics over the ranks is
  // collective.
  std::function<void(EvaluationProgress)> progress = {};
  int64_t print_freq = 10;
  // Called on every rank after each batch, with null if this rank has no more images. May make
  // collective calls.
  std::function<void(const BatchResult*)> batch = {};
  std::vector<int32_t> subset = {};  // as in evaluate_batch()
  // Stores the pixels of this rank's worst images, and adds thumbnails to the report. Set it on
  // every rank or on none.
  WorstPixels* worst = nullptr;
};

// Evaluates the whole set. The report covers all ranks and is the same on each. The caller sets its
// epoch, step, finished_epochs, ema and best. If hooks.keep_going() ends the evaluation, sets
// `stopped`, and the other fields must not be used. Throws EvaluationFailed on all ranks.
// Collective.
EvaluationReport evaluate(models::Classifier& model, ops::Type type, data::Loader& loader,
                          dist::Group& group, const EvaluationHooks& hooks = {});

// Returns images[i], with the image's name, for each i in `places`. `images`:
// EvaluationReport::images. Each rank looks up the names of the images that it evaluated.
// Collective.
std::vector<WorstImage> named(const dist::Group& group, const std::vector<ImageResult>& images,
                              const std::vector<size_t>& places, const data::Loader& loader);

// Sums each meter over all ranks, in place. Collective.
void reduce(dist::Group& group, std::initializer_list<Meter*> meters);

}  // namespace shoal::train
