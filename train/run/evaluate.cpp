#include "train/run/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/log.h"
#include "models/functions.h"
#include "train/control/stop.h"
#include "train/run/pace.h"
#include "train/step/input.h"
#include "train/step/read_back.h"

namespace shoal::train {
namespace {

constexpr std::array<int64_t, 1> kViewDimension = {1};  // of logits, images × views × classes

// Returns whether `here` is true on any rank. Collective.
bool on_any_rank(dist::Group& group, bool here) {
  at::Tensor ranks = at::empty({1}, at::kLong);
  *ranks.mutable_data_ptr<int64_t>() = here ? 1 : 0;
  group.all_reduce_sum(ranks);
  return ranks.item<int64_t>() > 0;
}

// Throws if there are no images or too many unreadable ones. `sum` is over all ranks.
void check_images(const Meter& sum) {
  const double all = sum.images + sum.skipped;
  if (all == 0) throw EvaluationFailed("there are no validation images; check the path of --val");
  if (sum.skipped > 0.01 * all)
    throw EvaluationFailed(
        strf("%.0f of %.0f validation images cannot be read, more than 1 %%; the log names them. "
             "Repair or remove them",
             sum.skipped, all));
}

}  // namespace

void reduce(dist::Group& group, std::initializer_list<Meter*> meters) {
  at::Tensor sums = at::empty({static_cast<int64_t>(meters.size()) * Meter::kValues}, at::kDouble);
  auto* values = sums.mutable_data_ptr<double>();
  for (const Meter* meter : meters) {
    for (const double value : meter->values()) *values++ = value;
  }
  group.all_reduce_sum(sums);
  values = sums.mutable_data_ptr<double>();
  for (Meter* meter : meters) {
    *meter = Meter::from(values);
    values += Meter::kValues;
  }
}

Meter evaluate_batch(models::Classifier& model, ops::Type type, const data::Batch& batch) {
  at::NoGradGuard no_grad;
  model.train(false);
  const at::Device device = model.parameters().front().master->device();
  const auto unreadable = std::ranges::count(batch.rows, true, &data::Row::unreadable);
  Meter meter{.skipped = static_cast<double>(unreadable)};
  if (batch.count == unreadable) return meter;
  Input input = make_input(batch, type, device);
  at::Tensor logits = model.forward(input.images, {});
  if (batch.views > 1)
    logits = logits.view({batch.count, batch.views, -1}).mean(at::IntArrayRef(kViewDimension));
  if (input.unreadable > 0) {
    const at::Tensor rows = models::upload(at::tensor(input.readable), device);
    logits = logits.index_select(0, rows);
    input.labels.a = input.labels.a.index_select(0, rows);
  }
  const auto result = models::cross_entropy(logits, input.labels, /*smoothing=*/0, /*scale=*/1);
  meter.add(meter_of(read_back({result.sums}).front(), batch.count - input.unreadable));
  return meter;
}

EvaluationReport evaluate(models::Classifier& model, ops::Type type, data::Loader& loader,
                          dist::Group& group, const EvaluationHooks& hooks) {
  EvaluationReport report;
  const auto interrupted = [] { return stop_signal() != 0; };
  const bool uneven = loader.uneven();  // ranks may have different numbers of batches
  int64_t batches = uneven ? 0 : loader.batches_per_epoch();
  const double start = now();
  group.enter(dist::Phase::evaluating);
  {
    const auto reading = group.during(dist::Phase::reading);  // waits for earlier reads
    loader.start_epoch(0);
  }
  double previous = start;
  for (int64_t i = 1;; ++i) {
    // This rank may wait long for a stream. A stop signal ends the wait.
    bool stops = false;
    const data::Batch* batch = nullptr;
    {
      const auto reading = group.during(dist::Phase::reading);
      stops = hooks.keep_going && !loader.has_batches(i, interrupted) && interrupted();
      if (!stops) batch = loader.next();
    }
    const bool more = batch != nullptr || stops;
    if (!(uneven ? on_any_rank(group, more) : more)) break;
    if (hooks.keep_going && !hooks.keep_going()) {
      report.stopped = true;
      return report;
    }
    Meter last = batch ? evaluate_batch(model, type, *batch) : Meter{};
    report.sum.add(last);
    const double time = now();
    if (uneven) batches = i;  // the number so far
    if (hooks.progress && (i % hooks.print_freq == 0 || (!uneven && i == batches))) {
      Meter sum = report.sum;
      reduce(group, {&last, &sum});
      hooks.progress({.batch = i,
                      .batches = batches,
                      .seconds = time - previous,
                      .seconds_average = (time - start) / static_cast<double>(i),
                      .last = last,
                      .sum = sum});
    }
    previous = time;
  }
  reduce(group, {&report.sum});
  report.seconds = now() - start;
  check_images(report.sum);
  return report;
}

}  // namespace shoal::train
