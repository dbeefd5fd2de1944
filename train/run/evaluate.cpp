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

constexpr std::array<int64_t, 1> kOfViews = {1};  // dimension of logits of several views

// True when it is so on any rank. Collective.
bool anybody(dist::Group& group, bool here) {
  at::Tensor ranks = at::empty({1}, at::kLong);
  *ranks.mutable_data_ptr<int64_t>() = here ? 1 : 0;
  group.all_reduce_sum(ranks);
  return ranks.item<int64_t>() > 0;
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
    logits = logits.view({batch.count, batch.views, -1}).mean(at::IntArrayRef(kOfViews));
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
                          dist::Group& group, int64_t print_freq, Reporter* reporter,
                          const std::function<bool()>& go_on) {
  EvaluationReport report;
  const bool uneven = loader.uneven();
  int64_t batches = uneven ? 0 : loader.batches_per_epoch();
  const double start = now();
  loader.start_epoch(0);
  double before = start;
  const auto told_to_stop = [] { return stop_signal() != 0; };
  for (int64_t i = 1;; ++i) {
    group.enter(dist::Phase::reading);
    // A stream may keep this rank waiting: a stop does not wait with it.
    const bool broken_off = go_on && !loader.has_batches(i, told_to_stop) && told_to_stop();
    const data::Batch* const batch = broken_off ? nullptr : loader.next();
    group.enter(dist::Phase::evaluating);
    const bool more = batch != nullptr || broken_off;
    if (!(uneven ? anybody(group, more) : more)) break;
    if (go_on && !go_on()) {
      report.stopped = true;
      return report;
    }
    Meter last = batch ? evaluate_batch(model, type, *batch) : Meter{};
    report.sum.add(last);
    const double after = now();
    if (uneven) batches = i;  // as far as is known
    if (reporter && (i % print_freq == 0 || (!uneven && i == batches))) {
      Meter sum = report.sum;
      reduce(group, {&last, &sum});
      reporter->evaluation_progress(i, batches, after - before,
                                    (after - start) / static_cast<double>(i), last, sum);
    }
    before = after;
  }
  reduce(group, {&report.sum});
  report.seconds = now() - start;
  const double all = report.sum.images + report.sum.skipped;
  if (all == 0)
    throw std::runtime_error("the evaluation has met no image; look at what fills --val");
  if (report.sum.skipped > 0.01 * all) {
    throw TooManyUnreadable(
        strf("%.0f of %.0f validation images cannot be read, more than 1 %%; the log names them. "
             "Repair or remove them",
             report.sum.skipped, all));
  }
  return report;
}

}  // namespace shoal::train
