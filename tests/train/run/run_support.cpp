#include "tests/train/run/run_support.h"

#include <ATen/Parallel.h>

#include "data/sources/synthetic.h"
#include "models/catalogue.h"

namespace shoal::test {
namespace fs = std::filesystem;
using namespace train;
namespace {

constexpr int64_t kLabels = 4;

}  // namespace

std::shared_ptr<const data::Dataset> synthetic_images(int64_t count) {
  return data::make_synthetic(
      {.images = count, .classes = kLabels, .distinct = 4, .width = 40, .height = 40});
}

ResolvedJob job_in(const fs::path& folder, const std::function<void(Job&)>& change, int64_t rank,
                   int64_t world_size) {
  Job job;
  job.model.name = "mobilenet_v3_small";
  job.size = 32;
  job.epochs = 2;
  job.global_batch_size = 4;
  job.schedule.lr = 0.01;
  job.threads = job.workers = 1;
  job.print_freq = 1;
  job.checkpoint_minutes = 0;
  job.keep = 20;
  job.output = (folder / "run").string();
  if (change) change(job);
  Surroundings here;
  here.rank = rank;
  here.world_size = here.local_world_size = world_size;
  here.train_images = 12;
  here.val_images = 5;
  here.classes = kLabels;
  models::ModelOptions options = job.model;
  options.classes = kLabels;
  here.model = models::describe(options);
  return resolve(job, here);
}

RunResult run_job(const ResolvedJob& job, dist::Communicator& communicator,
                  const std::shared_ptr<const data::Source>& train,
                  const std::shared_ptr<const data::Source>& val) {
  Job asked;
  static_cast<RunOptions&>(asked) = job;
  asked.checkpoint_dir = job.checkpoint_dir;
  std::shared_ptr<const data::Source> images = train;
  if (!images && !job.eval_only) images = synthetic_images(job.train_images);
  return run(job, find_start(asked, communicator.main), images,
             val ? val : synthetic_images(job.val_images), communicator,
             [](const std::exception& error) { return std::string("it failed: ") + error.what(); });
}

RunResult run_alone(const ResolvedJob& job, const std::shared_ptr<const data::Source>& train,
                    const std::shared_ptr<const data::Source>& val) {
  at::set_num_threads(1);
  dist::Communicator alone = dist::connect(dist::single_process());
  return run_job(job, alone, train, val);
}

nlohmann::json summary_of(const ResolvedJob& job) {
  return nlohmann::json::parse(read_text(fs::path(job.output) / "summary.json"));
}

Rows history_of(const ResolvedJob& job) {
  Rows rows;
  for (const std::string& line : lines_of(read_text(fs::path(job.output) / "history.jsonl"))) {
    const auto row = nlohmann::json::parse(line);
    if (row.at("event") != "test")
      rows.push_back(row.at("event").get<std::string>() + " " + row.at("step").dump());
  }
  return rows;
}

std::vector<CheckpointEntry> checkpoints_of(const ResolvedJob& job) {
  return CheckpointStore(job.checkpoint_dir, job.keep).entries();
}

}  // namespace shoal::test
