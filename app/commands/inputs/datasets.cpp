#include "app/commands/inputs/datasets.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include "app/commands/inputs/agreement.h"
#include "app/commands/inputs/opening.h"
#include "app/options/class_names.h"
#include "base/format/counted.h"
#include "base/log.h"
#include "base/text.h"
#include "data/container/catalogue.h"
#include "data/sources/cached_dataset.h"
#include "data/sources/relabeled.h"
#include "data/split.h"

namespace shoal::app {
namespace {

// Returns the names in --classes FILE. For --classes N with `numbered`, returns N numbers as names.
// Otherwise returns no names.
Classes class_names(const train::Job& job, bool numbered) {
  if (!job.classes_file.empty()) return read_class_names(job.classes_file, "a number");
  return data::numbered_classes(numbered ? job.classes.value_or(0) : 0);
}

// Labels are indices into these classes. If there are none, labels are indices into the classes of
// the images themselves.
struct KnownClasses {
  Classes names;
  std::string source;  // for messages: "the training images", "the checkpoint"
};

bool any_known(const Classes& names, const Classes& known) {
  const std::set<std::string_view> all(known.begin(), known.end());
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return all.contains(name); });
}

// Relabels validation images with the classes of the training images or of the model (`known`).
// Some of these classes may have no validation images. With eval_only, if the images have none of
// these classes and all their class names are numbers, the numbers are the labels.
std::shared_ptr<const data::Dataset> with_known_classes(
    std::shared_ptr<const data::Dataset> dataset, const OpenRequest& request,
    const KnownClasses& known) {
  const Classes own = dataset->classes();
  if (known.names.empty() || own == known.names) return dataset;
  if (request.job.eval_only && !any_known(own, known.names)) {
    const auto numbers = data::numeric_labels(own, static_cast<int64_t>(known.names.size()));
    if (!numbers.empty()) {
      log::info("the classes of the images are numbers; they mean the labels of " + known.source);
      return data::relabeled(dataset, known.names, numbers);
    }
  }
  try {
    dataset = data::with_classes(dataset, known.names, known.source);
  } catch (const std::invalid_argument& error) {
    const bool numbers = data::are_numbers(own) || data::are_numbers(known.names);
    throw UserError(request.split.option + ": classes of the validation images are " +
                    error.what() +
                    (numbers ? ". If labels are numbers, give the class names with --classes FILE"
                             : "; rename or remove them"));
  }
  if (own.size() < known.names.size())
    log::info(strf("the validation images have %zu of the %zu classes of %s", own.size(),
                   known.names.size(), known.source.c_str()));
  return dataset;
}

// With --cache, wraps the dataset to keep encoded images in memory.
std::shared_ptr<const data::Source> cached(std::shared_ptr<const data::Source> images,
                                           const train::Job& job) {
  auto dataset = std::dynamic_pointer_cast<const data::Dataset>(images);
  if (job.cache_bytes == 0 || !dataset) return images;
  return std::make_shared<data::CachedDataset>(std::move(dataset), job.cache_bytes);
}

// Returns the portion of the training images that --fraction or --per-class selects.
std::shared_ptr<const data::Dataset> selected(const OpenRequest& request,
                                              std::shared_ptr<const data::Dataset> images) {
  const data::Portion& portion = request.job.portion;
  if (portion.all()) return images;
  const int64_t all = images->size();
  auto taken = data::portion_of(std::move(images), portion);
  log::info(strf("%s: training on %ld of %ld images%s", portion_text(request.job).c_str(),
                 taken->size(), all, request.sharded() ? " of the first host" : ""));
  return taken;
}

// Opens the images of one split. Collective.
std::shared_ptr<const data::Source> open_split(const OpenRequest& request,
                                               const KnownClasses& known) {
  if (request.piped()) return open_pipe(request, known.names);
  auto dataset = open_listed(request, known.names);
  dataset = request.split.name == "val" ? with_known_classes(dataset, request, known)
                                        : selected(request, dataset);
  return as_read(request, dataset);
}

// Returns one part of the images `all` for --val-split. With --sharded, a host may have no
// validation image but must have a training image. Collective.
std::shared_ptr<const data::Source> take_part(const OpenRequest& request,
                                              std::shared_ptr<const data::Dataset> all,
                                              data::Part part) {
  const train::Job& job = request.job;
  const int64_t images = all->size();
  data::LargestOnHosts largest;
  if (request.sharded())
    largest = [&](auto& values) { take_largest(values, request.communicator); };
  const auto taken = data::part_of(std::move(all), part, job.val_split, largest);
  Shares shares{taken->size(), taken->size()};
  if (request.sharded()) shares = count_shares(*taken, request.communicator);
  const bool training = part == data::Part::train;
  if (training ? shares.smallest == 0 : shares.all == 0)
    throw UserError(strf(
        "--val-split %g leaves no %s image of %ld%s; use a %s", job.val_split,
        training ? "training" : "validation", images,
        request.sharded() && training ? " on a host" : "",
        training ? "smaller share" : "larger share. One image of each class stays in training"));
  if (!training)
    log::info(strf("--val-split %g: using %ld of the %ld images in %s for validation",
                   job.val_split, taken->size(), images, request.source().c_str()));
  return as_read(request, training ? selected(request, taken) : taken);
}

// Checks that the images have exactly the classes in --classes FILE.
void check_class_names(const data::Source& images, const train::Job& job, const Classes& names) {
  if (job.classes_file.empty() || images.classes() == names) return;
  throw UserError("--classes " + job.classes_file + " names " + counted(names.size(), "class") +
                  ", but the images have " + std::to_string(images.classes().size()) +
                  " with other names or in another order; only pipes need --classes FILE");
}

// Splits the training images (--val-split) and opens the validation part and, if `with_train`, the
// training part. Collective.
Datasets open_val_split(const train::Job& job, const DataPlaces& places, bool with_train,
                        const Classes& known, const dist::Communicator& communicator) {
  check_val_split(job, places);
  check_split_exists(job, places, places.train, true);
  OpenRequest request{job, places.train, communicator};
  const Classes names = class_names(job, /*numbered=*/false);
  const KnownClasses classes = with_train || known.empty() ? KnownClasses{names, "--classes"}
                                                           : KnownClasses{known, "the checkpoint"};
  Datasets datasets;
  auto all = open_listed(request, classes.names);
  check_class_names(*all, job, names);
  if (with_train) {
    datasets.train = cached(take_part(request, all, data::Part::train), job);
    datasets.train_source = request.source();
    // With --forward-reads, training and evaluation may read at the same time. So open the files
    // again for evaluation, without repeating warnings.
    request.quiet = true;
    if (job.forward_reads) all = open_listed(request, classes.names);
  } else {
    all = with_known_classes(all, request, classes);
  }
  datasets.val = take_part(request, all, data::Part::validation);
  datasets.val_source = request.source();
  return datasets;
}

}  // namespace

Datasets open_datasets(const train::Job& job, const DataPlaces& places, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator) {
  check_source_options(job, places, with_train);
  if (job.val_split > 0) return open_val_split(job, places, with_train, known, communicator);
  const OpenRequest train{job, places.train, communicator}, val{job, places.val, communicator};
  if (with_train) check_split_exists(job, places, places.train, true);
  check_split_exists(job, places, places.val, with_train);
  const bool train_piped = with_train && train.piped();
  Classes names = class_names(job, train_piped || val.piped());
  if (names.empty() && train_piped && val.piped()) names = known;  // the checkpoint's classes
  const KnownClasses given = {names, "--classes"}, saved = {known, "the checkpoint"};
  Datasets datasets;
  // A pipe cannot be searched for classes, so use those of the validation images if they are files.
  if (train_piped && !val.piped() && names.empty()) datasets.val = open_split(val, saved);
  if (with_train) {
    const auto& classes = datasets.val ? KnownClasses{datasets.val->classes(), ""} : given;
    datasets.train = cached(open_split(train, classes), job);
    datasets.train_source = train.source();
  }
  if (!datasets.val)
    datasets.val =
        open_split(val, with_train ? KnownClasses{datasets.train->classes(), "the training images"}
                        : known.empty() ? given
                                        : saved);
  if (with_train) data::check_same_classes(*datasets.train, *datasets.val);
  check_class_names(*datasets.val, job, names);
  datasets.val_source = val.source();
  return datasets;
}

}  // namespace shoal::app
