#include "app/session.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "app/checks.h"
#include "app/machine.h"
#include "app/text.h"
#include "data/cached_dataset.h"
#include "data/dataset.h"
#include "data/pixel_hash.h"
#include "data/sources/open.h"
#include "data/sources/patterns.h"
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

std::string cache_folder(const train::Job& job) {
  return job.cache_dir.value_or(job.checkpoint.empty() ? job.output + "/cache" : "");
}

// `known`: the classes of the training pictures, where they are known.
std::shared_ptr<const data::Dataset> open_half(const train::Job& job, const std::string& own,
                                               const char* half,
                                               const std::vector<std::string>& known) {
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
  const std::string source = source_of(job, own, half);
  if (option == "--val") {
    options.labels = job.val_labels;
    options.synsets = job.val_synsets;
  }
  std::shared_ptr<const data::Dataset> dataset;
  try {
    if (!job.tfrecord_keys.empty() && data::holds_tf_records(source))
      options.tfrecord_keys = job.tfrecord_keys;
    dataset = data::open_dataset(source, options);
  } catch (const std::invalid_argument& error) {
    throw train::UserError((own.empty() ? "--data " + job.data : option + " " + own) + ": " +
                           error.what());
  }
  train::log::status("");
  check_names(*dataset, source);
  return dataset;
}

// An option that changes nothing is refused.
void check_source_options(const train::Job& job, bool with_train) {
  if (!job.val_synsets.empty() && job.val_labels.empty())
    throw train::UserError("--val-synsets has no use without --val-labels");
  if (job.tfrecord_keys.empty()) return;
  if (data::holds_tf_records(source_of(job, job.val_dir, "val"))) return;
  if (with_train && data::holds_tf_records(source_of(job, job.train_dir, "train"))) return;
  throw train::UserError("--tfrecord-keys has no use: the pictures are no TFRecords");
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
                       const std::vector<std::string>& known) {
  check_source_options(job, with_train);
  Datasets datasets;
  if (with_train) datasets.train = open_half(job, job.train_dir, "train", {});
  if (with_train && job.cache_bytes > 0)
    datasets.train = std::make_shared<data::CachedDataset>(datasets.train, job.cache_bytes);
  datasets.val = open_half(job, job.val_dir, "val", with_train ? datasets.train->classes() : known);
  if (with_train) data::check_same_classes(*datasets.train, *datasets.val);
  return datasets;
}

train::ResolvedJob settle(const train::Job& job, const Datasets& datasets, const dist::Env& env) {
  train::Surroundings here;
  here.rank = env.rank;
  here.world_size = env.world_size;
  here.local_world_size = env.local_world_size;
  here.train_images = datasets.train ? datasets.train->size() : 0;
  here.val_images = datasets.val->size();
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
