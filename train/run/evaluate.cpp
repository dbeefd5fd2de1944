#include "train/run/evaluate.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/log.h"
#include "base/now.h"
#include "dist/gather.h"
#include "models/functions.h"
#include "train/control/stop.h"
#include "train/step/input.h"
#include "train/step/read_back.h"

namespace shoal::train {
namespace {

// Dimension of the views in logits of shape images × views × classes.
constexpr std::array<int64_t, 1> kViewDimension = {1};

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

// Returns a mask that is true for the classes that are not in `subset`.
at::Tensor excluded(const std::vector<int32_t>& subset, int64_t classes) {
  at::Tensor mask = at::ones({classes}, at::kBool);
  for (const int32_t label : subset) mask.mutable_data_ptr<bool>()[label] = false;
  return mask;
}

// Sets result.images from the batch's rows and result.logits.
void add_images(const data::Batch& batch, BatchResult& result) {
  result.images.resize(batch.rows.size());
  std::vector<size_t> readable;
  for (size_t row = 0; row < batch.rows.size(); ++row) {
    result.images[row].image = batch.first_position + static_cast<int64_t>(row);
    result.images[row].label = batch.rows[row].label;
    if (!batch.rows[row].unreadable) readable.push_back(row);
  }
  const auto classes = static_cast<size_t>(result.classes);
  at::parallel_for(0, static_cast<int64_t>(readable.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      ImageResult& image = result.images[readable[i]];
      const int64_t position = image.image;
      image = result_of({result.logits.data() + i * classes, classes}, image.label);
      image.image = position;
    }
  });
}

struct NextBatch {
  const data::Batch* batch;  // null if this rank has no more images or `stops` is true
  bool stops;                // a stop signal ended the wait
};

// Waits for this rank's batch `number` (from 1) and returns it. The wait for a stream may be long;
// with `stoppable`, a stop signal ends it.
NextBatch next_batch(data::Loader& loader, dist::Group& group, int64_t number, bool stoppable) {
  const auto reading = group.during(dist::Phase::reading);
  const auto interrupted = [] { return stop_signal() != 0; };
  if (stoppable && !loader.has_batches(number, interrupted) && interrupted())
    return {nullptr, true};
  return {loader.next(), false};
}

// Returns the results of all ranks, in the order of the images. With `uneven` (Loader::uneven()),
// positions are not unique across ranks, so the results are in rank order instead. Collective.
std::vector<ImageResult> gather(const dist::Group& group, std::vector<ImageResult>& mine,
                                bool uneven) {
  for (ImageResult& one : mine) one.rank = group.rank();
  auto all = dist::gather_values(group, mine);
  if (!uneven) std::ranges::sort(all, {}, &ImageResult::image);
  return all;
}

// Returns text_of(images[i].image) for each index i in `places`. The rank that evaluated the image
// computes the text, which must not contain zero bytes. Collective.
template <class TextOf>
std::vector<std::string> gather_texts(const dist::Group& group,
                                      const std::vector<ImageResult>& images,
                                      const std::vector<size_t>& places, const TextOf& text_of) {
  std::string mine;
  for (const size_t i : places)
    if (images[i].rank == group.rank()) mine += text_of(images[i].image) + '\0';
  std::vector<std::vector<std::string>> texts;  // per rank, in the order of `places`
  for (const std::string& text : dist::gather_text(group, mine)) texts.push_back(split(text, '\0'));
  std::vector<size_t> used(texts.size());
  std::vector<std::string> all;
  for (const size_t i : places) {
    const auto rank = static_cast<size_t>(images[i].rank);
    all.push_back(texts[rank].at(used[rank]++));
  }
  return all;
}

}  // namespace

std::vector<WorstImage> named(const dist::Group& group, const std::vector<ImageResult>& images,
                              const std::vector<size_t>& places, const data::Loader& loader) {
  const auto names =
      gather_texts(group, images, places, [&](int64_t image) { return loader.image_name(image); });
  std::vector<WorstImage> worst;
  for (size_t i = 0; i < places.size(); ++i) {
    const ImageResult& one = images[places[i]];
    worst.push_back({names[i], one.label, one.classes[0], static_cast<double>(one.probabilities[0]),
                     static_cast<double>(one.loss)});
  }
  return worst;
}

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

BatchResult evaluate_batch(models::Classifier& model, ops::Type type, const data::Batch& batch,
                           const std::vector<int32_t>& subset) {
  at::NoGradGuard no_grad;
  model.train(false);
  const at::Device device = model.parameters().front().master->device();
  const auto unreadable = std::ranges::count(batch.rows, true, &data::Row::unreadable);
  BatchResult result;
  result.meter.skipped = static_cast<double>(unreadable);
  if (batch.count == unreadable) {
    add_images(batch, result);
    return result;
  }
  Input input = make_input(batch, type, device);
  at::Tensor logits = model.forward(input.images, {});
  if (batch.views > 1)
    logits = logits.view({batch.count, batch.views, -1}).mean(at::IntArrayRef(kViewDimension));
  if (input.unreadable > 0) {
    const at::Tensor rows = models::upload(at::tensor(input.readable), device);
    logits = logits.index_select(0, rows);
    input.labels.a = input.labels.a.index_select(0, rows);
  }
  if (!subset.empty())
    logits =
        logits.masked_fill(models::upload(excluded(subset, logits.size(1)), device), kExcluded);
  const auto loss = models::cross_entropy(logits, input.labels, /*smoothing=*/0, /*scale=*/1);
  const auto host = read_back({device_meter({loss.sums}, batch.count - input.unreadable),
                               logits.to(at::kFloat).contiguous()});
  result.meter.add(meter_of(host[0]));
  result.classes = logits.size(1);
  const auto* const values = host[1].const_data_ptr<float>();
  result.logits.assign(values, values + host[1].numel());
  add_images(batch, result);
  return result;
}

namespace {

// Completes the report with sums, metrics and worst images over all ranks. `classes`: number of
// outputs of the model, 0 on ranks without readable images. `pixels`: as EvaluationHooks::worst.
// Collective.
void summarize(EvaluationReport& report, int64_t classes, const data::Loader& loader,
               dist::Group& group, const WorstPixels* pixels) {
  reduce(group, {&report.sum});
  check_images(report.sum);
  if (group.rank() == 0 && !std::isfinite(report.sum.loss))
    log::warning(std::string("the loss of the evaluated images is not finite: ") + kDiverged);
  const auto outputs = dist::gather_number(group, classes);
  report.images = gather(group, report.images, loader.uneven());
  report.figures = classification_of(report.images, *std::ranges::max_element(outputs));
  const auto places = highest_losses(report.images, EvaluationReport::kWorst);
  report.worst = named(group, report.images, places, loader);
  if (!pixels) return;
  const auto thumbnails = gather_texts(group, report.images, places,
                                       [&](int64_t image) { return pixels->thumbnail(image); });
  for (size_t i = 0; i < places.size(); ++i) report.worst[i].thumbnail = thumbnails[i];
}

}  // namespace

EvaluationReport evaluate(models::Classifier& model, ops::Type type, data::Loader& loader,
                          dist::Group& group, const EvaluationHooks& hooks) {
  EvaluationReport report;
  const bool uneven = loader.uneven();  // ranks may have different numbers of batches
  int64_t batches = uneven ? 0 : loader.batches_per_epoch();
  int64_t classes = 0;
  const double start = now();
  group.enter(dist::Phase::evaluating);
  {
    const auto reading = group.during(dist::Phase::reading);  // start_epoch() may wait
    loader.start_epoch(0);
  }
  double previous = start;
  for (int64_t i = 1;; ++i) {
    const NextBatch next = next_batch(loader, group, i, hooks.keep_going != nullptr);
    const bool more = next.batch != nullptr || next.stops;
    if (!(uneven ? on_any_rank(group, more) : more)) break;
    if (hooks.keep_going && !hooks.keep_going()) {
      report.stopped = true;
      return report;
    }
    BatchResult result;
    if (next.batch) result = evaluate_batch(model, type, *next.batch, hooks.subset);
    if (next.batch && hooks.worst) hooks.worst->add(*next.batch, result.images);
    report.sum.add(result.meter);
    report.images.insert(report.images.end(), result.images.begin(), result.images.end());
    classes = std::max(classes, result.classes);
    if (hooks.batch) hooks.batch(next.batch ? &result : nullptr);
    const double time = now();
    if (uneven) batches = i;  // the total is unknown; reports the number so far
    if (hooks.progress && (i % hooks.print_freq == 0 || (!uneven && i == batches))) {
      EvaluationProgress progress{.batch = i,
                                  .batches = batches,
                                  .seconds = time - previous,
                                  .seconds_average = (time - start) / static_cast<double>(i),
                                  .last = result.meter,
                                  .sum = report.sum};
      reduce(group, {&progress.last, &progress.sum});
      hooks.progress(progress);
    }
    previous = time;
  }
  report.seconds = now() - start;
  summarize(report, classes, loader, group, hooks.worst);
  return report;
}

}  // namespace shoal::train
