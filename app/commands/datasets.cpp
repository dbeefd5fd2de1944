#include "app/commands/datasets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "app/commands/agreement.h"
#include "app/launch/pipes.h"
#include "base/log.h"
#include "base/text.h"
#include "data/sources/cached_dataset.h"
#include "data/sources/relabelled.h"
#include "data/sources/split.h"
#include "data/stream/whole_files.h"

namespace shoal::app {
namespace fs = std::filesystem;

namespace {

using Classes = std::vector<std::string>;

// JSON and the console take UTF-8 only.
void check_names(const data::Source& images, const std::string& source) {
  for (const std::string& name : images.classes()) {
    if (is_utf8(name)) continue;
    throw UserError(source + ": the name of the class folder '" + name +
                    "' is not UTF-8; rename it");
  }
}

// The names in --classes FILE. Without a file and if `numbered`, the numbers below --classes N.
Classes class_names(const train::Job& job, bool numbered) {
  if (!job.classes_file.empty()) return read_class_names(job.classes_file);
  const int64_t count = numbered ? job.classes.value_or(0) : 0;
  const size_t digits = std::to_string(count - 1).size();
  Classes names;
  for (int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    names.push_back(std::string(digits - number.size(), '0') + number);
  }
  return names;
}

// Where the processes of this host pass images on to each other. Collective.
data::StreamRelay relay_of(const dist::Communicator& communicator) {
  const std::string name =
      strf("shoal-pipes-%016llx", static_cast<unsigned long long>(host_token(communicator)));
  const dist::Env& env = communicator.env;
  return {fs::temp_directory_path() / name, env.local_rank, env.local_world_size};
}

// What is needed to open one split.
struct Opening {
  const train::Job& job;
  const Split& split;
  const dist::Communicator& communicator;
  bool quiet = false;  // opened before: warnings were given

  std::string option() const { return "--" + split.name; }
  const std::string& source() const { return split.location.text; }
  bool sharded() const { return train::is_sharded(job, split.name); }
  bool piped() const { return split.location.is_pipe(); }
};

data::OpenOptions open_options(const Opening& opening, const Classes& known) {
  const train::Job& job = opening.job;
  data::OpenOptions options;
  options.cache_dir = cache_folder(job);
  options.progress = [name = opening.split.name](int64_t files) {
    log::status(strf("listing the %s images: %lld", name.c_str(), static_cast<long long>(files)));
  };
  // One process warns for all that have the same images.
  const dist::Env& env = opening.communicator.env;
  if (!opening.quiet && (opening.sharded() ? env.local_rank : env.rank) == 0)
    options.warning = log::warning;
  options.classes = known;
  options.reads = job.forward_reads ? data::Reads::forward : data::Reads::seeking;
  if (opening.split.name == "val") {
    options.in_order = job.forward_reads;
    options.labels = job.val_labels;
    options.synsets = job.val_synsets;
  }
  return options;
}

// Calls `open` and names the option in what it throws.
template <class Open>
auto opened(const Opening& opening, const Open& open) {
  decltype(open()) images;
  try {
    images = open();
  } catch (const std::invalid_argument& error) {
    throw UserError(opening.split.option + ": " + error.what());
  }
  log::status("");
  check_names(*images, opening.source());
  return images;
}

// Opens the pipe of this process. Collective.
std::shared_ptr<const data::Stream> open_pipe(const Opening& opening, const Classes& known) {
  const train::Job& job = opening.job;
  const PipeShare share = pipe_share(
      opening.source(), {opening.option(), opening.split.name == "train", opening.sharded()},
      opening.communicator.env);
  data::OpenOptions options = open_options(opening, known);
  options.tfrecord_keys = job.tfrecord_keys;
  options.stream_index = share.index;
  options.stream_count = share.count;
  options.shuffle_buffer = job.shuffle_buffer;
  options.pipe_patience.stall_seconds = job.collective_timeout;
  if (share.relayed) options.relay = relay_of(opening.communicator);
  return opened(opening, [&] { return data::open_stream(share.source, options); });
}

// Lists the images of files and checks that ranks agree on them. Collective.
std::shared_ptr<const data::Dataset> open_listed(const Opening& opening, const Classes& known) {
  data::OpenOptions options = open_options(opening, known);
  auto dataset = opened(opening, [&] {
    const auto& location = opening.split.location;
    if (!opening.job.tfrecord_keys.empty() && data::holds_tf_records(location))
      options.tfrecord_keys = opening.job.tfrecord_keys;
    return data::open_dataset(location, options);
  });
  if (opening.sharded()) return with_all_classes(dataset, opening.communicator);
  check_same_listing(*dataset, opening.option(), opening.source(), opening.communicator);
  return dataset;
}

// The classes that labels are indices into; empty: those of the images.
struct KnownClasses {
  Classes names;
  std::string whose;  // for messages: "the training images", "the checkpoint"
};

// Relabels validation images with the classes of the training images or of the model, of which they
// may lack some.
std::shared_ptr<const data::Dataset> with_known_classes(
    std::shared_ptr<const data::Dataset> dataset, const Opening& opening,
    const KnownClasses& known) {
  const Classes own = dataset->classes();
  if (known.names.empty() || own == known.names) return dataset;
  try {
    dataset = data::with_classes(dataset, known.names, known.whose);
  } catch (const std::invalid_argument& error) {
    const bool numbers = (own.empty() ? "" : own[0]) == "0" || known.names[0] == "0";
    throw UserError(opening.split.option + ": classes of the validation images are " +
                    error.what() +
                    (numbers ? ". Where labels are numbers, --classes FILE names them"
                             : "; rename or remove them"));
  }
  if (opening.communicator.env.rank == 0 && own.size() < known.names.size())
    log::info(
        strf("the validation images have %zu of the %zu classes of %s; the model may predict any "
             "of these",
             own.size(), known.names.size(), known.whose.c_str()));
  return dataset;
}

// The images as this process reads them: in any order, or front to back with --forward-reads.
std::shared_ptr<const data::Source> as_read(const Opening& opening,
                                            const std::shared_ptr<const data::Dataset>& dataset) {
  if (!opening.job.forward_reads) return dataset;
  const dist::Env& env = opening.communicator.env;
  data::WholeFilesShare share{env.rank, env.world_size, opening.job.shuffle_buffer};
  if (opening.sharded()) {
    share.index = env.local_rank;
    share.count = env.local_world_size;
  }
  if (auto stream = data::read_whole_files(dataset, share)) return stream;
  return dataset;
}

// --cache-images.
std::shared_ptr<const data::Source> cached(std::shared_ptr<const data::Source> images,
                                           const train::Job& job) {
  auto dataset = std::dynamic_pointer_cast<const data::Dataset>(images);
  if (job.cache_bytes == 0 || !dataset) return images;
  return std::make_shared<data::CachedDataset>(std::move(dataset), job.cache_bytes);
}

// Collective.
std::shared_ptr<const data::Source> open_split(const Opening& opening, const KnownClasses& known) {
  check_split_exists(opening.job, opening.split);
  if (opening.piped()) return open_pipe(opening, known.names);
  auto dataset = open_listed(opening, known.names);
  if (opening.split.name == "val") dataset = with_known_classes(dataset, opening, known);
  return as_read(opening, dataset);
}

// One part of the images of `opening`. A host with its own share may hold no image for validation,
// and must have one for training. Collective.
std::shared_ptr<const data::Source> take_part(const Opening& opening,
                                              std::shared_ptr<const data::Dataset> all,
                                              data::Part part) {
  const train::Job& job = opening.job;
  const int64_t images = all->size();
  const auto taken = data::part_of(std::move(all), part, job.val_split);
  Shares shares{taken->size(), taken->size()};
  if (opening.sharded()) shares = count_shares(*taken, opening.communicator);
  const bool training = part == data::Part::train;
  if (training ? shares.smallest == 0 : shares.all == 0)
    throw UserError(strf("--val-split %g leaves no %s image of %lld%s; give another share",
                         job.val_split, training ? "training" : "validation",
                         static_cast<long long>(images),
                         opening.sharded() && training ? " on a host" : ""));
  if (!training && opening.communicator.env.rank == 0)
    log::info(strf("--val-split %g: %lld of the %lld images in %s are for validation",
                   job.val_split, static_cast<long long>(taken->size()),
                   static_cast<long long>(images), opening.source().c_str()));
  return as_read(opening, taken);
}

// Checks that the images have the classes that --classes FILE names.
void check_class_names(const data::Source& images, const train::Job& job, const Classes& names) {
  if (job.classes_file.empty() || images.classes() == names) return;
  throw UserError("--classes " + job.classes_file + " names " + std::to_string(names.size()) +
                  " classes, the images have " + std::to_string(images.classes().size()) +
                  ", which differ or are in another order; only pipes need --classes FILE");
}

// Opens both splits from the training images (--val-split). Collective.
Datasets open_val_split(const train::Job& job, const DataPlaces& places, bool with_train,
                        const Classes& known, const dist::Communicator& communicator) {
  check_val_split(job, places);
  check_split_exists(job, places.train);
  Opening opening{job, places.train, communicator};
  const Classes names = class_names(job, /*numbered=*/false);
  const KnownClasses classes = with_train || known.empty() ? KnownClasses{names, "--classes"}
                                                           : KnownClasses{known, "the checkpoint"};
  Datasets datasets;
  auto all = open_listed(opening, classes.names);
  check_class_names(*all, job, names);
  if (with_train) {
    datasets.train = cached(take_part(opening, all, data::Part::train), job);
    datasets.train_source = opening.source();
    // Training and evaluation read forward at the same time, so each needs its own open files.
    opening.quiet = true;
    if (job.forward_reads) all = open_listed(opening, classes.names);
  } else {
    all = with_known_classes(all, opening, classes);
  }
  datasets.val = take_part(opening, all, data::Part::validation);
  datasets.val_source = opening.source();
  return datasets;
}

}  // namespace

std::vector<std::string> read_class_names(const std::string& path) {
  Classes names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  if (names.empty())
    throw UserError("--classes " + path +
                    " is neither a number nor a file with one class name per line");
  Classes sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw UserError("--classes " + path + " names '" + *twice + "' twice");
  return names;
}

Datasets open_datasets(const train::Job& job, const DataPlaces& places, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator) {
  check_source_options(job, places, with_train);
  if (job.val_split > 0) return open_val_split(job, places, with_train, known, communicator);
  const Opening train{job, places.train, communicator}, val{job, places.val, communicator};
  if (with_train) check_split_exists(job, places.train);
  check_split_exists(job, places.val);
  const bool train_piped = with_train && train.piped();
  Classes names = class_names(job, train_piped || val.piped());
  if (names.empty() && train_piped && val.piped()) names = known;  // resumed
  const KnownClasses given = {names, "--classes"}, saved = {known, "the checkpoint"};
  Datasets datasets;
  // A pipe cannot be searched for its classes, but the validation images may be.
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
