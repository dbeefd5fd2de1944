#include "train/checkpoint/find_checkpoint.h"

#include <ATen/ops/full.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "base/file/whole_file.h"
#include "tests/support/capture.h"
#include "tests/support/temporary_directory.h"
#include "train/checkpoint/export.h"
#include "train/weights/formats/zip_file.h"
#include "train/weights/model_file.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A run's output folder with checkpoints. Each has one weight, whose elements equal its step.
class Run {
 public:
  explicit Run(const fs::path& folder) : store_(folder / "checkpoints", 10) {
    job_.output = folder.string();
    fs::create_directories(store_.directory());
  }

  static CheckpointData state(int64_t step) {
    CheckpointData data;
    data.model = {{"fc.weight", at::full({2}, static_cast<float>(step))}};
    data.integers = {
        {"epoch", 1}, {"step", step}, {"classes", 2}, {"val_size", 64}, {"val_resize", 73}};
    data.text = {{"arch", "toy"}, {"interpolation", "bicubic"}};
    data.classes = {"cat", "dog"};
    return data;
  }
  fs::path save(int64_t step, std::optional<double> top1 = std::nullopt) {
    CheckpointStore writer(store_.directory(), 10);
    writer.open_for_writing();
    return writer.path(writer.save(1, step, top1, [&](const CheckpointStore::Sink& sink) {
      write_checkpoint(state(step), sink);
    }));
  }

  Job& job() { return job_; }
  const CheckpointStore& store() const { return store_; }
  fs::path folder() const { return job_.output; }

  Start start() {
    dist::Group alone;
    return find_start(job_, alone);
  }

 private:
  CheckpointStore store_;
  Job job_;
};

float weight_of(const CheckpointData& data) {
  return data.model.at(0).second[0].item<float>();
}

// Changes one byte in the middle of a file.
void damage(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
  stream.put('\x5a');
}

}  // namespace

TEST_CASE("without --resume a run starts from scratch, but must not write over another run's") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  const Start fresh = run.start();
  CHECK_FALSE(fresh.data);
  CHECK_FALSE(fresh.weights);
  CHECK(fresh.origin == "fresh start");
  require_own_folder(run.job(), run.start(), dist::Group());
  const std::string name = run.save(4).stem().string();
  const auto require_own = [&] { require_own_folder(run.job(), run.start(), dist::Group()); };
  CHECK_FALSE(run.start().data);
  CHECK_THROWS_AS(require_own(), UserError);
  CHECK_THROWS_WITH(require_own(), Contains(name) && Contains("--resume") && Contains("--output"));
  {
    CheckpointStore writer(run.store().directory(), 10);
    writer.open_for_writing();
    CHECK_THROWS_WITH(require_own(), Contains("another run is writing") &&
                                         Contains("process " + std::to_string(::getpid())) &&
                                         !Contains("--resume"));
  }
  run.job().resume = true;
  require_own();
}

TEST_CASE(
    "if --resume finds no checkpoint, the warning names a similarly named folder that has some") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "imagenet"), other(directory.path() / "imgenet");
  run.save(4);
  other.job().resume = true;
  fs::create_symlink("loop", directory.path() / "loop");  // a folder that cannot be examined
  const auto warning = [&] {
    return test::capture([&] { return other.start().data ? 1 : 0; }).err;
  };
  CHECK_THAT(warning(), Contains("new run") && Contains("did you mean --output") &&
                            Contains((directory.path() / "imagenet").string() + "?"));
  other.job().checkpoint_dir = (directory.path() / "elsewhere").string();
  CHECK_THAT(
      warning(),
      Contains("new run") && !Contains("did you mean") &&
          Contains("contain checkpoints: " + (directory.path() / "imagenet").string() + "\n"));
  for (const char* name : {"a", "b", "c"}) Run(directory.path() / name).save(4);
  CHECK_THAT(warning(),
             Contains((directory.path() / "c").string() + ", …\n") && !Contains("imagenet, "));
  for (const char* name : {"a", "b", "c", "imagenet"}) fs::remove_all(directory.path() / name);
  CHECK_THAT(warning(), Contains("new run") && !Contains("contain checkpoints"));
  Run(directory.path() / "imagenet").save(4);
  other.job().checkpoint_dir = (directory.path() / "imagenets").string();
  CHECK_THAT(warning(), Contains("did you mean --checkpoint-dir"));
  other.job().on_platform = true;  // SageMaker passes --resume at every start
  CHECK_THAT(warning(), !Contains("did you mean"));
}

TEST_CASE("--resume continues from the newest intact checkpoint, or from scratch without one") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  run.job().resume = true;
  CHECK_FALSE(run.start().data);
  const fs::path older = run.save(4), newer = run.save(8);
  const Start start = run.start();
  REQUIRE(start.data);
  CHECK(weight_of(*start.data) == 8);
  CHECK(start.origin == newer.string() + ", epoch 1, step 8");
  damage(newer);
  const Start previous = run.start();
  REQUIRE(previous.data);
  CHECK(weight_of(*previous.data) == 4);
  damage(older);
  CHECK_THROWS_WITH(run.start(), Contains("checkpoints"));
}

TEST_CASE("--resume PATH takes a file, a run's folder or a folder of checkpoints") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run"), other(directory.path() / "other");
  const fs::path older = other.save(4);
  other.save(8);
  const auto step_from = [&](const fs::path& path) {
    run.job().resume_path = path.string();
    return run.start().data.value().integer("step");
  };
  CHECK(step_from(older) == 4);
  CHECK(step_from(other.folder()) == 8);
  CHECK(step_from(other.folder() / "checkpoints") == 8);
  CHECK(step_from(other.folder() / "last") == 8);
  CHECK_THROWS_WITH(step_from(other.folder() / "best"), Contains("no evaluated checkpoint"));
  other.save(6, 50.0);
  CHECK(step_from(other.folder() / "best") == 6);
  run.save(2);
  CHECK_THROWS_WITH(require_own_folder(run.job(), run.start(), dist::Group()),
                    Contains("another run than " + other.folder().string()));
  // SageMaker starts the same command again after an interruption.
  run.job().on_platform = true;
  CHECK(step_from(other.folder()) == 2);
  CHECK_NOTHROW(require_own_folder(run.job(), run.start(), dist::Group()));
}

TEST_CASE("--resume PATH without a checkpoint is an error that names the path") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  const auto error_for = [&](const fs::path& path) {
    run.job().resume_path = path.string();
    CHECK_THROWS_AS(run.start(), UserError);
    CHECK_THROWS_WITH(run.start(), Contains("--resume") && Contains(path.string()));
  };
  error_for(directory.path() / "missing.pt");
  error_for(directory.path());  // a directory without checkpoints
  std::ofstream(directory.path() / "empty.pt").close();
  error_for(directory.path() / "empty.pt");

  // Scripts for PyTorch's imagenet example pass --resume checkpoint.pth.tar even in the first run,
  // when the file does not exist. So this is not an error.
  run.job().resume_path = (directory.path() / "checkpoint.pth.tar").string();
  CHECK_FALSE(run.start().data);
}

TEST_CASE("a missing checkpoint.pth.tar is reported with what the run starts from") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  const std::string missing = (directory.path() / "example/checkpoint.pth.tar").string();
  run.job().resume_path = missing;
  const auto warning = [&] { return test::capture([&] { return run.start().data ? 1 : 0; }).err; };
  CHECK_THAT(warning(), Contains("warning --resume " + missing + " does not exist") &&
                            Contains("this is a new run") && !Contains("did you mean"));
  fs::create_directories(directory.path() / "examples");
  write_whole(directory.path() / "examples/checkpoint.pth.tar", "x");
  const std::string advice = "did you mean --resume " + directory.path().string();
  CHECK_THAT(warning(), Contains(advice + "/examples/checkpoint.pth.tar?"));
  fs::create_directories(directory.path() / "example");
  write_whole(directory.path() / "example/chekpoint.pth.tar", "x");
  CHECK_THAT(warning(), Contains(advice + "/example/chekpoint.pth.tar?"));

  const fs::path own = run.save(4);
  CHECK_THAT(warning(), Contains("warning --resume " + missing +
                                 " does not exist; continuing from " + own.string()) &&
                            !Contains("new run"));
}

TEST_CASE("--resume without the --checkpoint-dir of the earlier start is refused") {
  const test::TemporaryDirectory directory;
  Run elsewhere(directory.path() / "elsewhere"), run(directory.path() / "run");
  const fs::path folder = elsewhere.save(4).parent_path();
  fs::create_directories(directory.path() / "run");
  write_whole(directory.path() / "run/config.toml",
              "epochs = 3\ncheckpoint-dir = \"" + folder.string() + "\"\n");
  run.job().resume = true;
  run.job().output = (directory.path() / "run").string();
  CHECK_THROWS_WITH(run.start(), Contains("add --checkpoint-dir " + folder.string()));
  CHECK(store_in(run.job().output).directory() == folder);  // for inspect and predict
  fs::remove_all(folder);
  CHECK_FALSE(run.start().data);  // nothing was saved
}

TEST_CASE("--resume with a file that is no checkpoint names the option") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  const fs::path file = directory.path() / "b0.toml";
  write_whole(file, "lr = 1");
  run.job().resume_path = file.string();
  CHECK_THROWS_WITH(run.start(), Contains("--resume") && Contains(file.string()) &&
                                     Contains("not a checkpoint of shoal"));
}

TEST_CASE("--resume with a file that holds only weights suggests --weights") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  export_model(Run::state(4), directory.path() / "model", {});
  run.job().resume_path = (directory.path() / "model" / kModelFile).string();
  CHECK_THROWS_AS(run.start(), UserError);
  CHECK_THROWS_WITH(run.start(), Contains("--weights " + run.job().resume_path));
}

TEST_CASE("a fresh start takes --weights; a resumed run ignores them") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run"), other(directory.path() / "other");
  other.save(4);
  run.job().weights = other.folder().string();
  const Start fresh = run.start();
  CHECK_FALSE(fresh.data);
  REQUIRE(fresh.weights);
  CHECK(weight_of(*fresh.weights) == 4);
  CHECK_THAT(fresh.origin, Contains("weights of") && Contains("step 4"));
  run.save(8);
  run.job().resume = true;
  const Start resumed = run.start();
  CHECK_FALSE(resumed.weights);
  CHECK(weight_of(resumed.data.value()) == 8);
  run.job().weights = (directory.path() / "missing").string();
  run.job().resume_path = (directory.path() / "checkpoint.pth.tar").string();
  CHECK(run.start().data);  // the run's own checkpoints take precedence
}

TEST_CASE("--eval-only needs weights") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  run.job().eval_only = true;
  CHECK_THROWS_AS(run.start(), UserError);
  CHECK_THROWS_WITH(run.start(), Contains("--eval-only") && Contains("--weights PATH"));
  run.job().resume = true;
  CHECK_THROWS_WITH(run.start(), Contains("--eval-only") && Contains("--resume PATH"));
  run.save(4);
  CHECK(run.start().data);
}

TEST_CASE("best and last name a checkpoint of a run") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  run.save(4, 50.0);
  run.save(8, 40.0);
  const auto weight_from = [&](const char* name) {
    return weight_of(open_checkpoint((run.folder() / name).string()).data);
  };
  CHECK(weight_from("") == 8);
  CHECK(weight_from("last") == 8);
  CHECK(weight_from("best") == 4);
  CHECK_THROWS_AS(weight_from("newest"), UserError);
}

TEST_CASE("a folder that is itself named best is read like any other folder") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "best");
  run.save(4, 50.0);
  run.save(8, 40.0);
  CHECK(weight_of(open_checkpoint(run.folder().string()).data) == 8);
  run.job().resume_path = run.folder().string();
  CHECK(run.start().data.value().integer("step") == 8);
}

TEST_CASE("best is the newest checkpoint if none was evaluated") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  run.save(4);
  run.save(8);
  CHECK(weight_of(open_checkpoint((run.folder() / "best").string()).data) == 8);
}

TEST_CASE("in a folder with only an exported model, the model is opened") {
  const test::TemporaryDirectory directory;
  export_model(Run::state(4), directory.path(), {});
  CHECK(weight_of(open_checkpoint(directory.path()).data) == 4);
}

TEST_CASE("a file that is not a checkpoint is an error that names it") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "notes.txt";
  write_whole(file, "not a checkpoint");
  CHECK_THROWS_AS(open_checkpoint(file), UserError);
  CHECK_THROWS_WITH(open_checkpoint(file), Contains(file.string()));
  CHECK_THROWS_WITH(open_weights(file, ""), Contains("--weights " + file.string()));
}

TEST_CASE("weights of another program open with --weights, but not with --checkpoint") {
  const std::string file = SHOAL_SOURCE_DIR "/tests/golden/weights/old.pth";
  CHECK_FALSE(open_weights(file, "").is_ours());
  CHECK_THROWS_AS(open_checkpoint(file), UserError);
  CHECK_THROWS_WITH(open_checkpoint(file), Contains("--weights " + file));
}

TEST_CASE("a file of weights with a wrong checksum is read with a warning") {
  std::vector<char> bytes =
      read_whole_file(SHOAL_SOURCE_DIR "/tests/golden/weights/state_dict.pth");
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "weights.pth";
  const auto warning = [&] {
    write_whole(file, std::string(bytes.begin(), bytes.end()));
    const OpenedCheckpoint opened = open_weights(file, "");
    CHECK_FALSE(opened.data.model.empty());
    return opened.warning;
  };
  CHECK(warning().empty());
  const ZipFile zip(bytes);
  const std::string first(zip.first_name());
  const auto values = zip.find(first.substr(0, first.find('/')) + "/data/0");
  REQUIRE((values && !values->empty()));
  bytes[static_cast<size_t>(values->data() - bytes.data())] ^= 1;
  CHECK_THAT(warning(), Contains("data/0 is wrong"));
}

TEST_CASE("a rollback finds the newest intact checkpoint before a step") {
  const test::TemporaryDirectory directory;
  Run run(directory.path() / "run");
  dist::Group alone;
  CHECK_FALSE(checkpoint_before(100, run.store(), alone));
  run.save(4);
  const fs::path middle = run.save(8);
  run.save(12);
  CHECK(weight_of(checkpoint_before(13, run.store(), alone).value().data) == 12);
  CHECK(weight_of(checkpoint_before(12, run.store(), alone).value().data) == 8);
  CHECK_FALSE(checkpoint_before(4, run.store(), alone));
  damage(middle);
  CHECK(weight_of(checkpoint_before(12, run.store(), alone).value().data) == 4);
}
