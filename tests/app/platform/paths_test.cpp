#include "app/platform/paths.h"

#include <catch2/catch.hpp>

#include "tests/app/platform/fake_files.h"
#include "train/job/job.h"

using namespace shoal;
using app::Paths;
using app::PathWithOrigin;
using Catch::Contains;
using Tree = std::vector<std::string>;
using Contents = std::map<std::string, std::string>;

namespace {

const std::string kData = "/base/input/data/";
const std::string kDataConfig = "/base/input/config/inputdataconfig.json";

// Returns the paths that are found in a training container with these folders in BASE/input/data.
Paths paths_in_container(const Tree& channels, dist::Variables environment = {},
                         Contents files = {}) {
  environment["SAGEMAKER_BASE_DIR"] = "/base";
  Tree folders = {"/base/input/config"};
  for (const std::string& channel : channels) folders.push_back(kData + channel);
  return app::find_paths(environment, test::fake(folders, files), true);
}

std::string train_of(const Paths& paths) {
  return paths.train ? paths.train->path : "(none)";
}
std::string val_of(const Paths& paths) {
  return paths.val ? paths.val->path : "(none)";
}

}  // namespace

TEST_CASE("outside a container, no paths are found") {
  const Paths paths = app::find_paths({}, test::fake({"/opt/ml/input/data/train"}, {}), true);
  CHECK_FALSE(paths.train);
  CHECK_FALSE(paths.checkpoints);
  CHECK_FALSE(paths.output);
  CHECK_FALSE(paths.model);
  CHECK_FALSE(paths.cache);
}

TEST_CASE("channels are recognized by their common names") {
  for (const char* name : {"train", "training", "train_0", "training_0"}) {
    INFO(name);
    const Paths paths = paths_in_container({name, "validation"});
    CHECK(train_of(paths) == kData + name);
    CHECK(val_of(paths) == kData + "validation");
    CHECK(paths.train->origin == std::string("channel ") + name);
  }
  for (const char* name : {"validation", "valid", "val", "eval", "test", "validation_0"}) {
    INFO(name);
    CHECK(val_of(paths_in_container({"train", name})) == kData + name);
  }
  CHECK(val_of(paths_in_container({"test", "train", "val"})) == kData + "val");
}

TEST_CASE("one channel of any name may contain both splits") {
  for (const char* name : {"imagenet", "data", "training", "flowers"}) {
    INFO(name);
    const std::string channel = name;
    const Paths paths = paths_in_container({channel + "/train", channel + "/val"});
    CHECK(train_of(paths) == kData + channel + "/train");
    CHECK(val_of(paths) == kData + channel + "/val");
  }
  const Paths named = paths_in_container({"data/training/cat", "data/validation/cat"});
  CHECK(train_of(named) == kData + "data/training");
  CHECK(val_of(named) == kData + "data/validation");
  // A separate validation channel overrides the folder val/ in the channel with train/.
  CHECK(val_of(paths_in_container({"data/train", "data/val", "validation"})) ==
        kData + "validation");
  CHECK(train_of(paths_in_container({"imagenet/train", "imagenet/val", "old/train", "old/val"})) ==
        kData + "imagenet/train");
}

TEST_CASE("channels of code and weights are not used as images") {
  const Paths paths =
      paths_in_container({"code", "model", "sm_drivers", "pretrained", "flowers", "validation"});
  CHECK(train_of(paths) == kData + "flowers");
  CHECK(paths.channels == Tree{"flowers", "validation"});
  CHECK(paths.pretrained == PathWithOrigin{kData + "pretrained", "channel pretrained"});
  CHECK(train_of(paths_in_container({"code", "model"})) == "(none)");
}

TEST_CASE("several possible training channels are an error") {
  CHECK_THROWS_AS(paths_in_container({"roses", "tulips"}), UserError);
  CHECK_THROWS_WITH(paths_in_container({"roses", "tulips"}), Contains("roses, tulips"));
  CHECK_THROWS_WITH(paths_in_container({"train_0", "train_1"}), Contains("--train DIR"));
  CHECK_THROWS_WITH(paths_in_container({"train", "validation_0", "validation_1"}),
                    Contains("--val DIR"));
}

TEST_CASE("variables set a channel's path, even outside a container") {
  const dist::Variables environment = {{"SM_CHANNELS", R"(["Train","val-set","validation"])"},
                                       {"SM_CHANNEL_TRAIN", "/a/train"},
                                       {"SSM_CHANNEL_VALIDATION", "/b/val"}};
  const Paths paths = app::find_paths(environment, test::fake({}, {}), true);
  CHECK(paths.channels == Tree{"Train", "val-set", "validation"});
  CHECK(paths.val == PathWithOrigin{"/b/val", "SSM_CHANNEL_VALIDATION"});
  const Paths alone = app::find_paths({{"SM_CHANNEL_TRAINING", "/a"}}, test::fake({}, {}), true);
  CHECK(alone.train == PathWithOrigin{"/a", "SM_CHANNEL_TRAINING"});
  CHECK_THROWS_WITH(app::find_paths({{"SM_CHANNELS", "train"}}, test::fake({}, {}), true),
                    Contains("SM_CHANNELS"));
}

TEST_CASE("Pipe channels are pipes, and numbered ones belong to one process each") {
  const Paths one = paths_in_container({}, {}, {{kDataConfig, R"({
      "train": {"TrainingInputMode": "Pipe", "S3DistributionType": "ShardedByS3Key"},
      "eval": {"TrainingInputMode": "pipe"}})"}});
  CHECK(train_of(one) == "pipe:" + kData + "train");
  CHECK(val_of(one) == "pipe:" + kData + "eval");
  CHECK((one.train_sharded && !one.val_sharded && !one.fast_files));
  const Paths four = paths_in_container({}, {}, {{kDataConfig, R"({
      "train_0": {"TrainingInputMode": "Pipe"}, "train_1": {"TrainingInputMode": "Pipe"},
      "Train_2": {"TrainingInputMode": "Pipe"}, "validation_0": {"TrainingInputMode": "Pipe"}})"}});
  CHECK(train_of(four) == "pipe:" + kData + "train_{0..2}");
  CHECK(four.train->origin == "channels train_0 … train_2");
  CHECK(val_of(four) == "pipe:" + kData + "validation_0");
  CHECK_THROWS_WITH(
      paths_in_container({}, {}, {{kDataConfig, R"({"train_0": {"TrainingInputMode": "Pipe"},
                        "train_1": {"TrainingInputMode": "File"}})"}}),
      Contains("input mode Pipe"));
}

TEST_CASE("inputdataconfig.json sets how channels are sharded and read") {
  const std::string& config = kDataConfig;
  const Paths fast = paths_in_container(
      {}, {}, {{config, R"({"train": {"TrainingInputMode": "FastFile"}, "val": {}})"}});
  CHECK(fast.fast_files);
  CHECK_FALSE(paths_in_container({"train"}).fast_files);
  const Paths shares = paths_in_container(
      {}, {}, {{config, R"({"train": {}, "val": {"S3DistributionType": "ShardedByS3Key"}})"}});
  CHECK((shares.val_sharded && !shares.train_sharded));
  CHECK(train_of(fast) == kData + "train");
  CHECK(val_of(fast) == kData + "val");
  CHECK_THROWS_WITH(paths_in_container({}, {}, {{config, "{"}}), Contains("inputdataconfig.json"));
  const Paths null = paths_in_container(
      {}, {}, {{config, R"({"train": {"TrainingInputMode": null, "S3DistributionType": null}})"}});
  CHECK(train_of(null) == kData + "train");
  CHECK_THROWS_AS(paths_in_container({}, {}, {{config, R"({"train": {"TrainingInputMode": 3}})"}}),
                  UserError);
}

TEST_CASE("checkpoints go to the configured folder, then simple-sagemaker's, then SageMaker's") {
  const std::string config = "/base/input/config/checkpointconfig.json";
  const Contents local = {{config, R"({"LocalPath": "/state"})"}};
  const dist::Variables state = {{"SSM_INSTANCE_STATE", "/state/algo-1"}};
  CHECK(paths_in_container({}, state, local).checkpoints ==
        PathWithOrigin{"/state", "checkpointconfig.json"});
  CHECK(paths_in_container({}, state).checkpoints ==
        PathWithOrigin{"/state/algo-1", "SSM_INSTANCE_STATE"});
  CHECK(paths_in_container({}).checkpoints == PathWithOrigin{"/base/checkpoints", "SageMaker"});
  CHECK(paths_in_container({}, {}, {{config, "{}"}}).checkpoints->path == "/base/checkpoints");
  CHECK_THROWS_WITH(paths_in_container({}, {}, {{config, "{broken"}}),
                    Contains("checkpointconfig.json"));
}

TEST_CASE(
    "TensorBoard's file goes to the configured folder, then simple-sagemaker's, then SageMaker's") {
  const Contents local = {
      {"/base/input/config/tensorboardoutputconfig.json",
       R"({"S3OutputPath": "s3://b/t", "LocalPath": "/opt/ml/output/tensorboard/"})"}};
  const dist::Variables folder = {{"SSM_TENSORBOARD_DIR", "/tb"}};
  CHECK(paths_in_container({}, folder, local).tensorboard ==
        PathWithOrigin{"/opt/ml/output/tensorboard/", "tensorboardoutputconfig.json"});
  CHECK(paths_in_container({}, folder).tensorboard == PathWithOrigin{"/tb", "SSM_TENSORBOARD_DIR"});
  CHECK(paths_in_container({}).tensorboard ==
        PathWithOrigin{"/base/output/tensorboard", "SageMaker"});
  CHECK_FALSE(app::find_paths({}, test::fake({}, {}), false).tensorboard);
}

TEST_CASE("output, model and cache folders come from variables, then from the container") {
  const Paths paths = paths_in_container({});
  CHECK(paths.output == PathWithOrigin{"/base/output/data", "SageMaker"});
  CHECK(paths.model == PathWithOrigin{"/base/model", "SageMaker"});
  CHECK(paths.cache->path == "/tmp/shoal-cache");
  const dist::Variables environment = {{"SM_OUTPUT_DATA_DIR", "/out"},
                                       {"SM_MODEL_DIR", "/weights"},
                                       {"SAGEMAKER_MANAGED_WARMPOOL_CACHE_DIRECTORY", "/warm"}};
  const Paths set = paths_in_container({}, environment);
  CHECK(set.output == PathWithOrigin{"/out", "SM_OUTPUT_DATA_DIR"});
  CHECK(set.model == PathWithOrigin{"/weights", "SM_MODEL_DIR"});
  CHECK(set.cache->path == "/warm/shoal");
}

TEST_CASE("data folders are searched only on request") {
  const app::Files files = test::fake({"/base/input/config", kData + "a", kData + "b"}, {});
  CHECK_NOTHROW(app::find_paths({{"SAGEMAKER_BASE_DIR", "/base"}}, files, false));
}
