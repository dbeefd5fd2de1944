#include "app/commands/datasets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "app/commands/agreement.h"
#include "app/launch/pipes.h"
#include "base/log.h"
#include "base/text.h"
#include "data/sources/cached_dataset.h"
#include "data/sources/open.h"
#include "data/sources/relabelled.h"
#include "data/sources/split.h"
#include "data/stream/pipes.h"
#include "data/stream/whole_files.h"

namespace shoal::app {
namespace fs = std::filesystem;

namespace {

// JSON and the console take UTF-8 only: better said now than in the middle of a run.
void check_names(const data::Dataset& dataset, const std::string& source) {
  for (const std::string& name : dataset.classes()) {
    if (is_utf8(name)) continue;
    throw UserError(source + ": the class folder '" + name +
                    "' has a name that is not UTF-8; rename it");
  }
}

// The names in --classes FILE, else numbers where --classes N says how many; else none.
std::vector<std::string> class_names(const train::Job& job, bool numbered) {
  std::vector<std::string> names;
  if (job.classes_file.empty()) {
    const int64_t count = numbered ? job.classes.value_or(0) : 0;
    const size_t digits = std::to_string(count - 1).size();
    for (int64_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      names.push_back(std::string(digits - number.size(), '0') + number);
    }
    return names;
  }
  return read_class_names(job.classes_file);
}

// Where the processes of this host hand each other images. Collective.
data::StreamRelay relay_of(const dist::Communicator& communicator) {
  const std::string name =
      strf("shoal-pipes-%016llx", static_cast<unsigned long long>(host_token(communicator)));
  const dist::Env& env = communicator.env;
  return {fs::temp_directory_path() / name, env.local_rank, env.local_world_size};
}

// What the processes of this job do with one half of the images.
struct HalfSource {
  const train::Job& job;
  const dist::Communicator& communicator;
  std::string name;    // train or val
  std::string source;  // what --train or --val take
  std::string given;   // by which option, for messages
  bool again = false;  // opened before: what it warns of was said

  std::string option() const { return "--" + name; }
  bool sharded() const { return is_sharded(job, name); }
  bool piped() const { return data::is_pipe_source(source); }
};

HalfSource half_of(const train::Job& job, const std::string& name,
                   const dist::Communicator& communicator) {
  const std::string& own = name == "train" ? job.train_dir : job.val_dir;
  if (own.empty()) check_data_folder(job, name);
  return {job, communicator, name, source_of(job, own, name), own.empty() ? "--data" : "--" + name};
}

// This process's pipe, and its part in it. Collective.
data::OpenOptions piped_options(const HalfSource& half, std::string& source) {
  const PipeShare share = pipe_share(
      half.source, {half.option(), half.name == "train", half.sharded()}, half.communicator.env);
  source = share.source;
  data::OpenOptions options;
  options.stream_index = share.index;
  options.stream_count = share.count;
  options.shuffle_buffer = half.job.shuffle_buffer;
  options.pipe_patience.stall_seconds = half.job.collective_timeout;
  if (share.relayed) options.relay = relay_of(half.communicator);
  return options;
}

// `known`: the classes of the training images, where they are known. Collective.
std::shared_ptr<const data::Dataset> open_source(const HalfSource& half,
                                                 const std::vector<std::string>& known) {
  const train::Job& job = half.job;
  std::string source = half.source;
  data::OpenOptions options = half.piped() ? piped_options(half, source) : data::OpenOptions();
  options.cache_dir = cache_folder(job);
  options.progress = [&](int64_t files) {
    log::status(
        strf("listing the %s images: %lld", half.name.c_str(), static_cast<long long>(files)));
  };
  // What one process says is true of all that have the same images.
  const dist::Env& env = half.communicator.env;
  if (!half.again && (half.sharded() ? env.local_rank : env.rank) == 0)
    options.warning = log::warning;
  options.classes = known;
  options.reads = job.forward_reads ? data::Reads::forward : data::Reads::seeking;
  if (half.name == "val") {
    options.in_order = job.forward_reads;
    options.labels = job.val_labels;
    options.synsets = job.val_synsets;
  }
  std::shared_ptr<const data::Dataset> dataset;
  try {
    if (!job.tfrecord_keys.empty() && (half.piped() || data::holds_tf_records(source)))
      options.tfrecord_keys = job.tfrecord_keys;
    dataset = data::open_dataset(source, options);
  } catch (const std::invalid_argument& error) {
    throw UserError(half.given + ": " + error.what());
  }
  log::status("");
  check_names(*dataset, source);
  return dataset;
}

// The classes that a half's labels count in; none: the data's own.
struct KnownClasses {
  std::vector<std::string> names;
  std::string whose;  // for messages: "the training images", "the checkpoint"
};

// Validation images may lack classes of the training images, or of the model: their labels become
// those of `known`.
std::shared_ptr<const data::Dataset> with_known_classes(
    std::shared_ptr<const data::Dataset> dataset, const HalfSource& half,
    const KnownClasses& known) {
  const std::vector<std::string> own = dataset->classes();
  if (known.names.empty() || own == known.names) return dataset;
  try {
    dataset = data::with_classes(dataset, known.names, known.whose);
  } catch (const std::invalid_argument& error) {
    const bool numbers = (own.empty() ? "" : own[0]) == "0" || known.names[0] == "0";
    throw UserError(half.given + ": classes of the validation images are " + error.what() +
                    (numbers ? ". Where labels are numbers, --classes FILE names them"
                             : "; rename or remove them"));
  }
  if (half.communicator.env.rank == 0 && own.size() < known.names.size())
    log::info(
        strf("the validation images have %zu of the %zu classes of %s; any of "
             "these may be predicted",
             own.size(), known.names.size(), known.whose.c_str()));
  return dataset;
}

// Likewise, with what the ranks must agree on. Collective.
std::shared_ptr<const data::Dataset> open_listed(const HalfSource& half,
                                                 const std::vector<std::string>& known) {
  auto dataset = open_source(half, known);
  if (half.sharded()) return with_all_classes(dataset, half.communicator);
  check_same_listing(*dataset, half.option(), half.source, half.communicator);
  return dataset;
}

// As this process reads it.
std::shared_ptr<const data::Dataset> as_read(const HalfSource& half,
                                             std::shared_ptr<const data::Dataset> dataset) {
  if (!half.job.forward_reads) return dataset;
  const dist::Env& env = half.communicator.env;
  data::WholeFilesShare share{env.rank, env.world_size, half.job.shuffle_buffer};
  if (half.sharded()) {
    share.index = env.local_rank;
    share.count = env.local_world_size;
  }
  return data::read_whole_files(std::move(dataset), share);
}

// Collective.
std::shared_ptr<const data::Dataset> open_half(const HalfSource& half, const KnownClasses& known) {
  if (half.piped()) return open_source(half, known.names);
  auto dataset = open_listed(half, known.names);
  if (half.name == "val") dataset = with_known_classes(dataset, half, known);
  return as_read(half, std::move(dataset));
}

std::shared_ptr<const data::Dataset> cached(std::shared_ptr<const data::Dataset> dataset,
                                            const train::Job& job) {
  if (job.cache_bytes == 0 || dataset->streamed()) return dataset;
  return std::make_shared<data::CachedDataset>(std::move(dataset), job.cache_bytes);
}

// One part of what `source` holds. Of hosts with images of their own, one may have none of a part.
// Collective where they have.
std::shared_ptr<const data::Dataset> take_part(const HalfSource& source,
                                               std::shared_ptr<const data::Dataset> all,
                                               data::Part part) {
  const int64_t images = all->size();
  auto taken = data::part_of(std::move(all), part, source.job.val_split);
  const int64_t on_all_hosts =
      source.sharded() ? count_shares(*taken, source.communicator).all : taken->size();
  if (on_all_hosts == 0)
    throw UserError(strf(
        "--val-split %g leaves no %s image of %lld; give another share", source.job.val_split,
        part == data::Part::train ? "training" : "validation", static_cast<long long>(images)));
  if (part == data::Part::validation && source.communicator.env.rank == 0)
    log::info(strf("--val-split %g: %lld of the %lld images in %s are for validation",
                   source.job.val_split, static_cast<long long>(taken->size()),
                   static_cast<long long>(images), source.source.c_str()));
  return as_read(source, std::move(taken));
}

// What --classes FILE names must be what the images have.
void check_class_names(const data::Dataset& dataset, const train::Job& job,
                       const std::vector<std::string>& names) {
  if (job.classes_file.empty() || dataset.classes() == names) return;
  throw UserError("--classes " + job.classes_file + " names " + std::to_string(names.size()) +
                  " classes, the images have " + std::to_string(dataset.classes().size()) +
                  ", others or in another order; leave it out where there is no pipe");
}

// Both halves from the training images (--val-split). Collective.
Datasets open_split(const train::Job& job, bool with_train, const std::vector<std::string>& known,
                    const dist::Communicator& communicator) {
  check_split(job);
  HalfSource source = half_of(job, "train", communicator);
  const auto names = class_names(job, /*numbered=*/false);
  const KnownClasses classes = with_train || known.empty() ? KnownClasses{names, "--classes"}
                                                           : KnownClasses{known, "the checkpoint"};
  Datasets datasets;
  auto all = open_listed(source, classes.names);
  check_class_names(*all, job, names);
  if (with_train) {
    datasets.train = cached(take_part(source, all, data::Part::train), job);
    // Two passes from front to back at a time need files of their own.
    source.again = true;
    if (job.forward_reads) all = open_listed(source, classes.names);
  } else {
    all = with_known_classes(all, source, classes);
  }
  datasets.val = take_part(source, all, data::Part::validation);
  if (with_train) datasets.train_source = source.source;
  datasets.val_source = source.source;
  return datasets;
}

}  // namespace

std::vector<std::string> read_class_names(const std::string& path) {
  std::vector<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  if (names.empty())
    throw UserError("--classes " + path +
                    " is neither a number nor a file with one class's name in each line");
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw UserError("--classes " + path + " names '" + *twice + "' twice");
  return names;
}

Datasets open_datasets(const train::Job& job, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator) {
  check_source_options(job, with_train);
  if (job.val_split > 0) return open_split(job, with_train, known, communicator);
  std::optional<HalfSource> train;
  if (with_train) train.emplace(half_of(job, "train", communicator));
  const HalfSource val = half_of(job, "val", communicator);
  const bool train_piped = train && train->piped();
  auto names = class_names(job, train_piped || val.piped());
  if (names.empty() && train_piped && val.piped()) names = known;  // resumed
  const KnownClasses given = {names, "--classes"}, saved = {known, "the checkpoint"};
  Datasets datasets;
  // A pipe cannot be looked over for its classes, but the validation images may be.
  if (train_piped && !val.piped() && names.empty()) datasets.val = open_half(val, saved);
  if (train) {
    const auto& classes = datasets.val ? KnownClasses{datasets.val->classes(), ""} : given;
    datasets.train = cached(open_half(*train, classes), job);
  }
  if (!datasets.val)
    datasets.val =
        open_half(val, train ? KnownClasses{datasets.train->classes(), "the training images"}
                       : known.empty() ? given
                                       : saved);
  if (with_train) data::check_same_classes(*datasets.train, *datasets.val);
  check_class_names(*datasets.val, job, names);
  if (train) datasets.train_source = train->source;
  datasets.val_source = val.source;
  return datasets;
}

}  // namespace shoal::app
