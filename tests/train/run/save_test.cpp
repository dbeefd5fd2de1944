// Tests what a run saves when something fails.

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>

#include "base/file/whole_file.h"
#include "data/folder/image_folder.h"
#include "data/loader/loader.h"
#include "tests/support/failing_calls.h"
#include "tests/support/spawn_ranks.h"
#include "tests/train/run/run_support.h"
#include "train/job/rank_loader_options.h"
#include "train/report/sinks.h"
#include "train/step/trainer.h"
#include "train/weights/checkpoint_file.h"

using namespace shoal;
using namespace shoal::train;
using namespace shoal::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

// A dataset whose folder vanishes after some reads.
class VanishingImages final : public data::ForwardingDataset {
 public:
  VanishingImages(std::shared_ptr<const data::Dataset> inner, int reads)
      : ForwardingDataset(std::move(inner)), left_(reads) {}
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    if (left_-- <= 0) throw std::runtime_error("the folder vanished");
    ForwardingDataset::read(sample, bytes);
  }

 private:
  mutable std::atomic<int> left_;
};

// Returns a function for FailingCalls that matches the files of this step's checkpoint.
auto checkpoint_file(const std::string& step) {
  return [step](const std::string& path) { return path.find("step-0000000" + step) != path.npos; };
}

std::vector<int64_t> steps_of(const ResolvedJob& job) {
  std::vector<int64_t> steps;
  for (const auto& entry : checkpoints_of(job)) steps.push_back(entry.step);
  return steps;
}

using Steps = std::vector<int64_t>;

CheckpointData newest_of(const ResolvedJob& job) {
  const CheckpointStore store(job.checkpoint_dir, 1);
  const auto entry = store.entries().at(0);
  return read_checkpoint(store.read(entry), entry.name);
}

}  // namespace

TEST_CASE("a checkpoint that cannot be written does not end the run or change its result",
          "[slow]") {
  const test::TemporaryDirectory folder;
  const auto settings = [](Job& job) { job.checkpoint_steps = 2; };
  const ResolvedJob whole = job_in(folder.path() / "whole", settings);
  run_alone(whole);
  const ResolvedJob job = job_in(folder.path() / "disturbed", settings);
  {
    const FailingCalls full("write", checkpoint_file("2"), ENOSPC);
    REQUIRE(run_alone(job).stop_signal == 0);
    REQUIRE(full.count() >= 2);  // tried again
  }
  REQUIRE(steps_of(whole) == Steps{6, 4, 3, 2});
  REQUIRE(steps_of(job) == Steps{6, 4, 3});
  REQUIRE(checkpoints_of(job)[0].checksum == checkpoints_of(whole)[0].checksum);
  REQUIRE(history_of(job) == history_of(whole));
  int64_t events = 0;
  for (const auto& line : test::lines_of(test::read_text(fs::path(job.output) / kEventsFile)))
    if (const auto row = nlohmann::json::parse(line); row.at("event") == "save_failed") {
      ++events;
      CHECK(row.at("in_a_row") == 1);
      CHECK(row.at("step") == 2);  // not the step after which it was noticed
    }
  REQUIRE(events == 1);
}

TEST_CASE("--on-save-error stop ends the run at a checkpoint that cannot be written") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) {
    j.checkpoint_steps = 2;
    j.on_save_error = OnSaveError::stop;
  });
  const FailingCalls full("write", checkpoint_file("4"), EDQUOT);
  CHECK_THROWS_WITH(run_alone(job), Contains("step-00000004") && Contains("quota"));
  REQUIRE(steps_of(job) == Steps{3, 2});
  REQUIRE(summary_of(job).at("outcome") == "failed");
}

TEST_CASE("a run whose last state cannot be saved exports the model and fails", "[slow]") {
  const test::TemporaryDirectory folder;
  const fs::path model = folder.path() / "model";
  const ResolvedJob job = job_in(folder.path(), [&](Job& j) { j.export_dir = model.string(); });
  {
    const FailingCalls full("write", checkpoint_file("6"), ENOSPC);
    CHECK_THROWS_WITH(run_alone(job), Contains("the state after step 6 could not be saved") &&
                                          Contains("No space") &&
                                          Contains("--resume continues from") &&
                                          Contains("step-00000003.pt"));
  }
  REQUIRE(steps_of(job) == Steps{3});
  REQUIRE(summary_of(job).at("outcome") == "failed");
  REQUIRE(fs::exists(model / "model.safetensors"));
  const ResolvedJob again = job_in(folder.path(), [](Job& j) { j.resume = true; });
  run_alone(again);
  REQUIRE(steps_of(again) == Steps{6, 3});
}

TEST_CASE("checkpoints do not depend on the copy of the history") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const FailingCalls full(
      "write", [](const std::string& path) { return path.find("history") != path.npos; }, ENOSPC);
  REQUIRE(run_alone(job).stop_signal == 0);
  REQUIRE(steps_of(job) == Steps{6, 3});
  REQUIRE(newest_of(job).integer("history_lines") > 6);
}

TEST_CASE("--checkpoint-minutes saves within an epoch") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job =
      job_in(folder.path(), [](Job& j) { j.checkpoint_minutes = 1e-6; });  // less than a step
  run_alone(job);
  REQUIRE(steps_of(job).size() > 2);  // by default, only the ends of the two epochs are saved
}

TEST_CASE("a checkpoint that --checkpoint-minutes requests is saved once") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) {
    j.global_batch_size = 2;  // six steps
    j.epochs = 1;
    j.checkpoint_minutes = 1e-6;
  });
  run_alone(job);
  REQUIRE(steps_of(job) == Steps{6, 4, 2});  // requested at one step, saved at the next
}

TEST_CASE("a checkpoint that another run saves in the meantime is not set aside") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  run_alone(job);
  Job asked;
  static_cast<RunOptions&>(asked) = job;
  asked.checkpoint_dir = job.checkpoint_dir;
  asked.resume_path = job.checkpoint_dir + "/" + checkpoint_name(1, 3) + ".pt";
  dist::Communicator alone = dist::connect(dist::single_process());
  Start start = find_start(asked, alone.main);
  std::erase(start.seen, checkpoint_name(2, 6));  // as if another run saved it after find_start()
  const ResolvedJob resumed =
      job_in(folder.path(), [&](Job& j) { j.resume_path = asked.resume_path; });
  const auto describe = [](const std::exception& error) { return std::string(error.what()); };
  CHECK_THROWS_WITH(
      run(resumed, std::move(start), synthetic_images(12), synthetic_images(5), alone, describe),
      Contains("another run saved " + checkpoint_name(2, 6)));
  REQUIRE(steps_of(job) == Steps{6, 3});
}

TEST_CASE("a run does not continue another run in a folder that has checkpoints of its own") {
  const test::TemporaryDirectory folder;
  const ResolvedJob source = job_in(folder.path() / "source");
  const ResolvedJob job = job_in(folder.path(), [](Job& j) { j.max_steps = 1; });
  run_alone(source);
  run_alone(job);
  const std::string history = test::read_text(fs::path(job.output) / "history.jsonl");
  const auto moved = [&](Job& j) { j.resume_path = source.checkpoint_dir; };
  CHECK_THROWS_WITH(run_alone(job_in(folder.path(), moved)),
                    Contains("checkpoints of another run than"));
  REQUIRE(steps_of(job) == Steps{1});
  REQUIRE(test::read_text(fs::path(job.output) / "history.jsonl") == history);
  REQUIRE(steps_of(source) == Steps{6, 3});
}

TEST_CASE("the history is copied once the checkpoint is saved if it cannot be copied before") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) { j.max_steps = 1; });
  const FailingCalls full(
      "write",
      [&](const std::string& path) {
        return path.find("history") != path.npos && !path.starts_with(job.output + "/history");
      },
      ENOSPC, 1);
  run_alone(job);
  REQUIRE(full.count() == 1);
  REQUIRE(test::read_text(fs::path(job.checkpoint_dir) / "history.jsonl") ==
          test::read_text(fs::path(job.output) / "history.jsonl"));
}

TEST_CASE(
    "training images that cannot be opened end the run after a save; --resume repeats no step",
    "[slow]") {
  const test::TemporaryDirectory folder;
  const fs::path data = folder.path() / "data";
  make_images(data, 12, 5, 4, 40);
  const auto train = data::open_image_folder((data / "train").string()),
             val = data::open_image_folder((data / "val").string());
  const auto settings = [](Job& job) { job.epochs = 6; };
  const ResolvedJob whole = job_in(folder.path() / "whole", settings);
  run_alone(whole, train, val);
  const ResolvedJob job = job_in(folder.path(), settings);
  {
    const fs::path first = job.checkpoint_dir + "/" + checkpoint_name(1, 3) + ".json";
    const auto is_later_image = [&](const std::string& path) {
      return path.starts_with((data / "train").string()) && fs::exists(first);
    };
    const FailingCalls broken("open", is_later_image, EIO);
    CHECK_THROWS_WITH(run_alone(job, train, val),
                      Contains((data / "train").string()) && Contains(".jpg"));
  }
  CHECK_THAT(summary_of(job).at("reason").get<std::string>(), Contains(".jpg"));
  const int64_t saved = steps_of(job).at(0);
  CHECK(saved >= 3);
  CHECK(saved < 18);
  const ResolvedJob again = job_in(folder.path(), [&](Job& j) {
    settings(j);
    j.resume = true;
  });
  run_alone(again, train, val);
  REQUIRE(checkpoints_of(again)[0].checksum == checkpoints_of(whole)[0].checksum);
  REQUIRE(history_of(again) == history_of(whole));
}

TEST_CASE("validation images that vanish end the run after a save; --resume repeats the evaluation",
          "[slow]") {
  const test::TemporaryDirectory folder;
  const ResolvedJob whole = job_in(folder.path() / "whole");
  run_alone(whole);
  const ResolvedJob job = job_in(folder.path());
  const auto images = std::make_shared<VanishingImages>(synthetic_images(job.val_images), 4);
  CHECK_THROWS_WITH(run_alone(job, nullptr, images), "the folder vanished");
  REQUIRE(steps_of(job) == Steps{3});
  REQUIRE(summary_of(job).at("outcome") == "failed");
  run_alone(job_in(folder.path(), [](Job& j) { j.resume = true; }));
  REQUIRE(checkpoints_of(job)[0].checksum == checkpoints_of(whole)[0].checksum);
  REQUIRE(history_of(job) == history_of(whole));
}

TEST_CASE("training images that vanish end the run after the state before is saved", "[slow]") {
  const test::TemporaryDirectory folder;
  const ResolvedJob whole =
      job_in(folder.path() / "whole", [](Job& job) { job.checkpoint_steps = 4; });
  run_alone(whole);
  const ResolvedJob job = job_in(folder.path());
  const auto images = std::make_shared<VanishingImages>(synthetic_images(12), 18);
  CHECK_THROWS_WITH(run_alone(job, images), "the folder vanished");
  REQUIRE(steps_of(job) == Steps{4, 3});
  REQUIRE(checkpoints_of(job)[0].checksum == checkpoints_of(whole)[1].checksum);
  REQUIRE(summary_of(job).at("step") == 4);
}

TEST_CASE("images that vanish while they are skipped are reported, not thrown") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  dist::Communicator alone = dist::connect(dist::single_process());
  Trainer trainer(job, alone);
  const auto images = std::make_shared<VanishingImages>(synthetic_images(12), 0);
  data::Loader loader(images, rank_loader_options(job, 0, true));
  loader.start_epoch(0);
  CHECK(trainer.skip([&] { return loader.next(); }).loader_failure);
}

TEST_CASE("training images that vanish for one rank end all ranks after a save", "[slow]") {
  test::run_ranks(2, "vanish", [](const dist::Env& env) {
    const test::TemporaryDirectory folder;
    dist::Communicator communicator = dist::connect(env);
    const auto with_steps = [](Job& job) { job.checkpoint_steps = 4; };
    const ResolvedJob whole = job_in(folder.path() / "whole", with_steps, env.rank, 2);
    run_job(whole, communicator);
    const ResolvedJob job = job_in(folder.path(), {}, env.rank, 2);
    std::shared_ptr<const data::Dataset> images = synthetic_images(12);
    if (env.rank == 1) images = std::make_shared<VanishingImages>(images, 9);
    REQUIRE_THROWS_WITH(run_job(job, communicator, images),
                        Contains(env.rank == 1 ? "vanished" : "another rank"));
    communicator.shutdown();
    if (env.rank != 0) return;
    REQUIRE(steps_of(job) == Steps{4, 3});
    REQUIRE(checkpoints_of(job)[0].checksum == checkpoints_of(whole)[1].checksum);
  });
}

TEST_CASE("a run adopts its newest checkpoint if it was killed before the marker", "[slow]") {
  const test::TemporaryDirectory folder;
  const ResolvedJob whole = job_in(folder.path() / "whole");
  run_alone(whole);
  const ResolvedJob job = job_in(folder.path(), [](Job& j) { j.max_steps = 3; });
  run_alone(job);
  const fs::path marker = fs::path(job.checkpoint_dir) / (checkpoints_of(job)[0].name + ".json");
  const std::string text = test::read_text(marker);
  fs::remove(marker);
  CHECK_THROWS_AS(run_alone(job), UserError);  // without --resume
  const ResolvedJob resumed = job_in(folder.path(), [](Job& j) { j.resume = true; });
  run_alone(resumed);
  REQUIRE(test::read_text(marker) == text);
  REQUIRE(history_of(resumed) == history_of(whole));
}

TEST_CASE("--resume refuses a folder whose markers are damaged, and changes nothing") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  run_alone(job);
  const Rows history = history_of(job);
  for (const auto& entry : checkpoints_of(job))
    write_whole(fs::path(job.checkpoint_dir) / (entry.name + ".json"), "");
  const ResolvedJob again = job_in(folder.path(), [](Job& j) { j.resume = true; });
  CHECK_THROWS_WITH(run_alone(again), Contains("none of the 2 checkpoints"));
  CHECK_THROWS_AS(run_alone(job), UserError);
  REQUIRE(history_of(job) == history);
  REQUIRE(fs::exists(fs::path(job.checkpoint_dir) / "epoch-0002-step-00000006.pt"));
}

TEST_CASE("the file that --resume names stays as it is, even without its marker", "[slow]") {
  const bool has_marker = GENERATE(true, false);
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [](Job& j) { j.checkpoint_steps = 1; });
  run_alone(job);
  const fs::path file = fs::path(job.checkpoint_dir) / "epoch-0000-step-00000002.pt";
  if (!has_marker) fs::remove(fs::path(file).replace_extension(".json"));
  const std::string content = test::read_text(file);
  REQUIRE_FALSE(content.empty());
  const ResolvedJob resumed = job_in(folder.path(), [&](Job& j) {
    j.keep = 1;
    j.checkpoint_steps = 1;
    j.resume_path = file.string();
  });
  run_alone(resumed);
  REQUIRE(test::read_text(file) == content);
}

TEST_CASE("a disk that is full at the export loses no checkpoint") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [&](Job& j) {
    j.epochs = 2;
    // Also saves step 4, the newest but one at the end. It is not evaluated and so not the best.
    j.checkpoint_steps = 2;
    j.keep = 2;
    j.export_dir = (folder.path() / "model").string();
  });
  const auto checkpoints = [&] {
    return checkpoint_store(job.checkpoint_dir, job.keep).entries().size();
  };
  size_t before = 0;  // number of checkpoints when the disk becomes full
  const FailingCalls full(
      "write",
      [&](const std::string& path) {
        if (before == 0 && path.ends_with("model.safetensors.part")) before = checkpoints();
        return before > 0;
      },
      ENOSPC);
  REQUIRE_THROWS_WITH(run_alone(job), Contains("model.safetensors") && Contains("No space"));
  REQUIRE(before >= 2);
  REQUIRE(checkpoints() == before);
}

TEST_CASE("a full disk keeps the exported model and the summary, without temporary files") {
  const test::TemporaryDirectory folder;
  const auto settings = [&](Job& job) {
    job.max_steps = 1;
    job.export_dir = (folder.path() / "model").string();
  };
  const ResolvedJob job = job_in(folder.path(), settings);
  run_alone(job);
  const fs::path model = folder.path() / "model/model.safetensors";
  const std::string exported = test::read_text(model);
  const auto resumed = [&] {
    run_alone(job_in(folder.path(), [&](Job& j) {
      settings(j);
      j.resume = true;
    }));
  };
  for (const std::string name : {"classes.json", "model.safetensors", "summary.json"}) {
    const FailingCalls full(
        "write", [&](const std::string& path) { return path.ends_with(name + ".part"); }, ENOSPC);
    REQUIRE_THROWS_WITH(resumed(), Contains(name) && Contains("No space"));
    REQUIRE(full.count() > 0);
  }
  REQUIRE(test::read_text(model) == exported);
  REQUIRE(summary_of(job).at("outcome") == "failed");
  for (const fs::path& place : {folder.path() / "model", fs::path(job.output)}) {
    for (const auto& file : fs::directory_iterator(place))
      REQUIRE(file.path().extension() != ".part");
  }
}
