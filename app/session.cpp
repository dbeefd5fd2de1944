#include "app/session.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "app/agreement.h"
#include "app/checks.h"
#include "app/machine.h"
#include "app/pipes.h"
#include "app/text.h"
#include "data/cached_dataset.h"
#include "data/dataset.h"
#include "data/pixel_hash.h"
#include "data/sources/open.h"
#include "data/sources/patterns.h"
#include "data/stream/pipes.h"
#include "data/stream/whole_files.h"
#include "dist/health.h"
#include "dist/stall.h"
#include "models/model.h"
#include "train/allocator.h"
#include "train/log.h"

namespace shoal::app {
namespace fs = std::filesystem;

void begin(const train::Job& job, const dist::Env& env) {
  train::check_values(job);
  train::log::set_level(job.log_level, env.rank);
  train::install_allocator();
}

namespace {

// JSON and the console take UTF-8 only: better said now than in the middle of a run.
void check_names(const data::Dataset& dataset, const std::string& source) {
  for (const std::string& name : dataset.classes()) {
    if (is_utf8(name)) continue;
    throw train::UserError(source + ": the class folder '" + name +
                           "' has a name that is not UTF-8; rename it");
  }
}

// The first of the places where a half of DATA may lie.
std::string source_of(const train::Job& job, const std::string& own, const std::string& half) {
  if (!own.empty()) return own;
  const std::string folder = job.data + "/" + half;
  for (const std::string& name : {folder, folder + ".pack", folder + ".tar",
                                  job.data + "/ILSVRC2012_img_" + half + ".tar", folder + ".rec"}) {
    if (fs::exists(name)) return name;
  }
  std::vector<std::string> patterns = {folder + "-*"};
  if (half == "val") patterns.push_back(job.data + "/validation-*");
  for (const std::string& pattern : patterns) {
    if (data::matches_files(pattern)) return pattern;
  }
  return folder;
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
  std::ifstream file(job.classes_file);
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  if (names.empty())
    throw train::UserError("--classes " + job.classes_file +
                           " is neither a number nor a file with one class's name in each line");
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw train::UserError("--classes " + job.classes_file + " names '" + *twice + "' twice");
  return names;
}

bool is_sharded(const train::Job& job, const std::string& half) {
  return job.sharded == half || job.sharded == "both";
}

std::string cache_folder(const train::Job& job) {
  return job.cache_dir.value_or(job.checkpoint.empty() ? job.output + "/cache" : "");
}

// Where the processes of this host hand each other pictures. Collective.
data::StreamRelay relay_of(const dist::Communicator& communicator) {
  const std::string name =
      train::strf("shoal-pipes-%016llx", static_cast<unsigned long long>(host_token(communicator)));
  const dist::Env& env = communicator.env;
  return {fs::temp_directory_path() / name, env.local_rank, env.local_world_size};
}

// `known`: the classes of the training pictures, where they are known.
std::shared_ptr<const data::Dataset> open_half(const train::Job& job, const std::string& own,
                                               const char* half,
                                               const std::vector<std::string>& known,
                                               const dist::Communicator& communicator) {
  const std::string option = std::string("--") + half;
  if (own.empty() && job.data.empty()) {
    throw train::UserError("no pictures given: --data DIR (holding train/ and val/), or " + option +
                           " DIR");
  }
  data::OpenOptions options;
  options.cache_dir = cache_folder(job);
  options.progress = [&](int64_t files) {
    train::log::status(
        train::strf("listing the %s pictures: %lld", half, static_cast<long long>(files)));
  };
  options.warning = train::log::warning;
  options.classes = known;
  options.reads = job.forward_reads ? data::Reads::forward : data::Reads::seeking;
  std::string source = source_of(job, own, half);
  const bool piped = data::is_pipe_source(source);
  if (piped) {
    const PipeShare share =
        pipe_share(source, {option, option == "--train", is_sharded(job, half)}, communicator.env);
    source = share.source;
    options.stream_index = share.index;
    options.stream_count = share.count;
    options.shuffle_buffer = job.shuffle_buffer;
    options.pipe_patience.stall_seconds = job.collective_timeout;
    if (share.relayed) options.relay = relay_of(communicator);
  }
  if (option == "--val") {
    options.labels = job.val_labels;
    options.synsets = job.val_synsets;
  }
  std::shared_ptr<const data::Dataset> dataset;
  try {
    if (!job.tfrecord_keys.empty() && (piped || data::holds_tf_records(source)))
      options.tfrecord_keys = job.tfrecord_keys;
    dataset = data::open_dataset(source, options);
  } catch (const std::invalid_argument& error) {
    throw train::UserError((own.empty() ? "--data " + job.data : option + " " + own) + ": " +
                           error.what());
  }
  train::log::status("");
  check_names(*dataset, source);
  if (piped) return dataset;
  const dist::Env& env = communicator.env;
  data::WholeFilesShare share{env.rank, env.world_size, job.shuffle_buffer};
  if (is_sharded(job, half)) {
    dataset = with_all_classes(dataset, communicator);
    share.index = env.local_rank;
    share.count = env.local_world_size;
  } else {
    check_same_listing(*dataset, option, source, communicator);
  }
  return job.forward_reads ? data::read_whole_files(dataset, share) : dataset;
}

// What --classes FILE names must be what the pictures have.
void check_class_names(const data::Dataset& dataset, const train::Job& job,
                       const std::vector<std::string>& names) {
  if (job.classes_file.empty() || dataset.classes() == names) return;
  throw train::UserError("--classes " + job.classes_file + " names " +
                         std::to_string(names.size()) + " classes, the pictures have " +
                         std::to_string(dataset.classes().size()) +
                         ", others or in another order; leave it out where there is no pipe");
}

// An option that changes nothing is refused.
void check_source_options(const train::Job& job, bool with_train) {
  if (!job.val_synsets.empty() && job.val_labels.empty())
    throw train::UserError("--val-synsets has no use without --val-labels");
  const std::string train = source_of(job, job.train_dir, "train");
  if (job.tfrecord_keys.empty() || data::is_pipe_source(source_of(job, job.val_dir, "val"))) return;
  if (with_train && data::is_pipe_source(train)) return;
  if (data::holds_tf_records(source_of(job, job.val_dir, "val"))) return;
  if (with_train && data::holds_tf_records(train)) return;
  throw train::UserError("--tfrecord-keys has no use: the pictures are no TFRecords");
}

// What has no effect on pictures that come one after the other.
void tell_useless(const train::Job& job, const data::Dataset& pictures) {
  if (!pictures.streamed()) return;
  const std::string why = " has no effect: the training pictures are read from front to back";
  if (job.cache_bytes > 0) train::log::warning("--cache" + why);
  if (job.order == data::Order::chunked) train::log::warning("--order" + why);
}

}  // namespace

std::string index_folder(const train::Job& job) {
  if (!job.seek_index) return "";
  const fs::path pictures = fs::absolute(source_of(job, job.train_dir, "train")).lexically_normal();
  const std::string& name = pictures.native();
  const uint64_t hash = data::hash_bytes(name.data(), static_cast<int64_t>(name.size()));
  return cache_folder(job) + train::strf("/seek-%016llx", static_cast<unsigned long long>(hash));
}

Datasets open_datasets(const train::Job& job, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator) {
  check_source_options(job, with_train);
  const auto is_piped = [&](const std::string& own, const char* half) {
    return data::is_pipe_source(source_of(job, own, half));
  };
  const bool train_piped = with_train && is_piped(job.train_dir, "train");
  const bool val_piped = is_piped(job.val_dir, "val");
  auto names = class_names(job, train_piped || val_piped);
  if (names.empty() && train_piped && val_piped) names = known;  // resumed
  const auto open_val = [&](const std::vector<std::string>& classes) {
    return open_half(job, job.val_dir, "val", classes, communicator);
  };
  Datasets datasets;
  // A pipe cannot be looked over for its classes, but the validation pictures may be.
  if (train_piped && !val_piped && names.empty()) datasets.val = open_val(known);
  if (with_train)
    datasets.train = open_half(job, job.train_dir, "train",
                               datasets.val ? datasets.val->classes() : names, communicator);
  if (with_train) tell_useless(job, *datasets.train);
  if (with_train && job.cache_bytes > 0 && !datasets.train->streamed())
    datasets.train = std::make_shared<data::CachedDataset>(datasets.train, job.cache_bytes);
  if (!datasets.val)
    datasets.val = open_val(with_train ? datasets.train->classes() : names.empty() ? known : names);
  if (with_train) data::check_same_classes(*datasets.train, *datasets.val);
  check_class_names(*datasets.val, job, names);
  return datasets;
}

train::ResolvedJob settle(const train::Job& job, const Datasets& datasets,
                          const dist::Communicator& communicator) {
  const dist::Env& env = communicator.env;
  train::Surroundings here;
  here.rank = env.rank;
  here.world_size = env.world_size;
  here.local_world_size = env.local_world_size;
  here.train_images = datasets.train ? datasets.train->size() : 0;
  here.val_images = datasets.val->size();
  const bool streamed = datasets.train && datasets.train->streamed();
  here.train_streamed = streamed && here.train_images == 0;
  here.train_whole_files = streamed && !here.train_streamed;
  if (datasets.train && !here.train_streamed && is_sharded(job, "train")) {
    const Shares shares = count_shares(*datasets.train, communicator);
    here.train_images = shares.all;
    here.smallest_share = shares.smallest;
  }
  if (is_sharded(job, "val")) here.val_images = count_shares(*datasets.val, communicator).all;
  here.classes = static_cast<int64_t>(datasets.val->classes().size());
  here.processors = usable_processors() * (bound_by_parent() ? env.local_world_size : 1);
  models::ModelOptions model = job.model;
  model.classes = job.classes.value_or(here.classes);
  here.model = models::describe(model);
  const train::ResolvedJob resolved = train::resolve(job, here);
  at::set_num_threads(resolved.threads);
  return resolved;
}

void check_health(const train::Job& job, const dist::Communicator& communicator) {
  using dist::HealthCheck;
  if (job.health_check == "off") return;
  const dist::Env& env = communicator.env;
  if (env.local_rank == 0)
    for (const Check& check : resource_checks())
      if (check.verdict == Check::Verdict::bad)
        throw std::runtime_error("rank " + dist::rank_with_host(env.rank, env) + ": " + check.name +
                                 ": " + check.value + "; " + check.advice +
                                 ", or go on regardless with --health-check off");
  const auto report = dist::check_health(
      communicator, job.health_check == "full" ? HealthCheck::full : HealthCheck::quick);
  if (env.rank == 0 && report.slowest_bytes_per_second > 0)
    train::log::info(train::strf("health check: the slowest link between hosts has %.0f MB/s",
                                 report.slowest_bytes_per_second / 1e6));
}

dist::Communicator connect_ranks(const train::Job& job, const dist::Env& env) {
  dist::ConnectOptions options;
  if (job.backend == "gloo") options.backend = dist::Backend::gloo;
  options.rendezvous_timeout =
      std::chrono::milliseconds(std::llround(1e3 * job.rendezvous_timeout));
  options.timeout = std::chrono::milliseconds(std::llround(1e3 * job.collective_timeout));
  options.patience = std::chrono::milliseconds(std::llround(1e3 * job.stall_warning));
  options.tell = train::log::warning;
  return dist::connect(env, options);
}

}  // namespace shoal::app
