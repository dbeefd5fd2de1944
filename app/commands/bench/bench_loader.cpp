// shoal bench loader: measures data loading, prints the time of each stage, and advises how to make
// it faster.
#include <algorithm>
#include <filesystem>

#include "app/commands/bench/bench.h"
#include "app/launch/machine.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "data/loader/loader_profile.h"
#include "data/sources/cached_dataset.h"
#include "train/control/stop.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr double kMegabyte = 1e6;

// A temporary folder for seek indexes. The destructor removes it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "shoal-bench-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw UserError("cannot create a folder in " + fs::temp_directory_path().string() +
                      " for seek indexes; use --cache-dir DIR or --no-seek-index");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns the split of `data` that `train` selects, or `data` itself if it has no such split.
data::Location measured_images(const std::string& data, bool train) {
  return data::find_split(data, train ? "train" : "val").value_or(data::resolve(data));
}

std::shared_ptr<const data::Dataset> open(const data::Location& source, const std::string& cache) {
  data::OpenOptions options;
  options.cache_dir = cache;
  options.warning = log::warning;
  options.progress = [](int64_t files) { log::status(strf("listing: %ld images", files)); };
  try {
    auto dataset = data::open_dataset(source, options);
    log::status("");
    return dataset;
  } catch (const std::invalid_argument& error) {
    throw UserError(source.text + ": " + error.what());
  }
}

data::LoaderOptions loader_options(const Arguments& arguments, const std::string& index_dir) {
  const train::Job& job = arguments.job;
  data::LoaderOptions options;
  options.train = !arguments.bench.eval;
  options.batch_size = job.batch_size.value_or(options.batch_size);
  data::TransformOptions& transform = options.transform;
  transform.size = job.size.value_or(transform.size);
  transform.eval_size = job.val_size.value_or(transform.eval_size);
  transform.eval_resize = transform.eval_size * 256 / 224;
  transform.channels = job.channels.value_or(transform.channels);
  transform.scale_min = job.crop_scale_min;
  transform.resize = arguments.bench.eval ? data::Resize::exact : arguments.bench.mode;
  transform.decoder = job.decoder;
  if (transform.decoder == data::Decoder::turbo && transform.resize == data::Resize::fast)
    throw UserError("--decoder turbo does not support --mode fast; remove one of them");
  transform.interpolation = job.interpolation.value_or(transform.interpolation);
  options.order = job.order;
  options.index_dir = index_dir;
  return options;
}

const data::LoaderRate& fastest(const std::vector<data::LoaderRate>& rates) {
  return *std::max_element(rates.begin(), rates.end(), [](const auto& a, const auto& b) {
    return a.images_per_second < b.images_per_second;
  });
}

const char* name_of(data::Bound bound) {
  constexpr const char* kNames[] = {"processors", "disk", "batches"};
  return kNames[static_cast<int>(bound)];
}

Json json_of(const data::LoaderRate& rate) {
  Json stages;
  for (int i = 0; i < data::kStages; ++i) {
    const auto stage = static_cast<data::Stage>(i);
    stages[data::stage_name(stage)] =
        rate.stages.of(stage) / static_cast<double>(rate.stages.images);
  }
  return {{"threads", rate.threads},
          {"images_per_sec", rate.images_per_second},
          {"bytes_per_sec", rate.bytes_per_second()},
          {"cores", rate.cores()},
          {"first_batch_seconds", rate.first_batch_seconds},
          {"seconds_per_image", stages}};
}

void print(const std::vector<data::LoaderRate>& rates, const data::Advice& advice) {
  log::line(strf("%8s %10s %8s %9s %7s %12s", "threads", "images/s", "speedup", "MB/s", "cores",
                 "first batch"));
  for (const data::LoaderRate& rate : rates) {
    const double gain = rate.images_per_second / rates.front().images_per_second;
    const std::string of_one = rates.front().threads == 1 ? strf("%.2fx", gain) : "-";
    log::line(strf("%8d %10.1f %8s %9.1f %7.2f %10.3f s", rate.threads, rate.images_per_second,
                   of_one.c_str(), rate.bytes_per_second() / kMegabyte, rate.cores(),
                   rate.first_batch_seconds));
  }
  const data::LoaderRate& best = fastest(rates);
  log::line(strf("\nper image with %s: %.1f kB, %.3f ms", counted(best.threads, "thread").c_str(),
                 best.bytes_per_image() / 1e3,
                 1e3 * best.stages.busy_seconds() / static_cast<double>(best.stages.images)));
  for (int i = 0; i < data::kStages; ++i) {
    const auto stage = static_cast<data::Stage>(i);
    const double share =
        best.stages.of(stage) / (best.stages.busy_seconds() + best.stages.of(data::Stage::wait));
    if (best.stages.of(stage) <= 0) continue;
    log::line(strf("%16s %8.3f ms %5.1f %%  %s", data::stage_name(stage).c_str(),
                   1e3 * best.stages.of(stage) / static_cast<double>(best.stages.images),
                   100 * share, std::string(static_cast<size_t>(40 * share), '#').c_str()));
  }
  log::line("\n" + advice.sentence);
}

}  // namespace

int bench_loader(const Arguments& arguments) {
  if (arguments.job.fit_batch_size)
    throw UserError(
        "--batch-size auto does not work in `shoal bench loader`; give a number or omit it");
  std::optional<TemporaryFolder> temporary;
  const bool indexes = arguments.job.seek_index && !arguments.bench.eval;
  const std::string cache = arguments.job.cache_dir.value_or("");
  if (cache.empty() && indexes) temporary.emplace();
  auto dataset = open(measured_images(arguments.paths.at(1), !arguments.bench.eval), cache);
  if (arguments.job.cache_bytes > 0)
    dataset = std::make_shared<data::CachedDataset>(dataset, arguments.job.cache_bytes);

  data::ProfileOptions options;
  options.processors = usable_processors();
  options.seconds = arguments.bench.seconds;
  if (arguments.job.threads) options.threads = {*arguments.job.threads};
  const fs::path index_base = temporary ? temporary->path() : fs::path(cache);
  options.loader = loader_options(arguments, indexes ? index_base / "seek-bench" : fs::path());
  if (dataset->size() < options.loader.batch_size) options.loader.batch_size = dataset->size();
  const auto progress = [](int threads) {
    log::status(threads == 0 ? "warming up" : "measuring " + counted(threads, "thread"));
  };
  options.stopped = [] { return train::stop_signal() != 0; };
  std::vector<data::LoaderRate> rates;
  try {
    rates = data::profile_loader(dataset, options, progress, log::warning);
  } catch (const data::ProfileStopped&) {
    log::status("");
    return 128 + train::stop_signal();
  }
  log::status("");
  const bool can_be_fast = !arguments.bench.eval && arguments.bench.mode == data::Resize::exact;
  const data::Advice advice =
      data::advise(rates, options.processors, arguments.bench.wanted, can_be_fast);
  if (arguments.json) {
    Json runs;
    for (const data::LoaderRate& rate : rates) runs.push_back(json_of(rate));
    Json json = {{"images_per_sec", fastest(rates).images_per_second},
                 {"images", dataset->size()},
                 {"runs", runs},
                 {"bound", name_of(advice.bound)},
                 {"advice", advice.sentence}};
    if (advice.threads > 0) json["threads_needed"] = advice.threads;
    log::line(json.dump());
  } else {
    print(rates, advice);
  }
  return 0;
}

}  // namespace shoal::app
