#include "app/options/foreign/foreign_options.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/app/options/parsed.h"
#include "tests/support/capture.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using app::ForeignOption;
using Catch::Contains;
using test::parsed;
using Words = std::vector<std::string>;

TEST_CASE("each row of the table has one foreign name, and an option or a reason") {
  std::set<std::string> names;
  for (const ForeignOption& option : app::foreign_options()) {
    INFO(option.name);
    CHECK(names.insert(option.name).second);
    CHECK(option.name.find('_') == option.name.npos);
    CHECK(app::find_option(Command::train, option.name) == nullptr);
    CHECK(option.programs != 0);
    if (option.ours.empty()) {
      CHECK(option.meaning.size() >= 10);
    } else {
      CHECK(app::find_option(Command::train, option.ours) != nullptr);
    }
  }
  CHECK(app::find_foreign("lr_init") == app::find_foreign("lr-init"));
  CHECK(app::find_foreign("lr") == nullptr);
}

TEST_CASE("docs/reference_flags.md lists each row of the table in its program's section") {
  const std::string text = test::read_text(SHOAL_SOURCE_DIR "/docs/reference_flags.md");
  const std::pair<unsigned, const char*> kSections[] = {
      {app::kImagenet, "\n## PyTorch's imagenet example\n"},
      {app::kNvidiaPyTorch, "\n## NVIDIA DeepLearningExamples, PyTorch\n"},
      {app::kNvidiaTensorFlow, "\n## NVIDIA DeepLearningExamples, TensorFlow 2"},
      {app::kTimm, "\n## timm and torchvision\n"}};
  for (const auto& [program, heading] : kSections) {
    const size_t begin = text.find(heading);
    REQUIRE(begin != text.npos);
    const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
    std::string rows;
    for (const ForeignOption& option : app::foreign_options()) {
      if (!(option.programs & program)) continue;
      std::string name = option.name;
      if (option.programs == app::kNvidiaTensorFlow)
        std::replace(name.begin(), name.end(), '-', '_');
      rows += "| `" + std::string(name.size() == 1 ? "-" : "--") + name + "` | " +
              (option.ours.empty() ? "no effect" : "`--" + option.ours + "`") + " | " +
              option.meaning + " |\n";
    }
    INFO("the table of this section must be:\n" << rows);
    CHECK(section.find("|---|---|---|\n" + rows) != section.npos);
  }
}

TEST_CASE("the imagenet example's command line is accepted unchanged") {
  const Arguments arguments = parsed({"-a",
                                      "resnet50",
                                      "-j",
                                      "8",
                                      "-b",
                                      "512",
                                      "--wd",
                                      "5e-5",
                                      "-p",
                                      "50",
                                      "--epochs",
                                      "10",
                                      "--resume",
                                      "checkpoint.pth.tar",
                                      "--multiprocessing-distributed",
                                      "--dist-url",
                                      "env://",
                                      "--world-size",
                                      "3",
                                      "--rank",
                                      "1",
                                      "--seed",
                                      "123",
                                      "--gpu",
                                      "0",
                                      "--start-epoch",
                                      "2",
                                      "--dist-backend",
                                      "nccl",
                                      "--learning-rate",
                                      "0.2",
                                      "/opt/ml/input/data"});
  const train::Job& job = arguments.job;
  CHECK(job.data == "/opt/ml/input/data");
  CHECK(job.model.name == "resnet50");
  CHECK(job.workers == 8);
  CHECK(job.batch_size == 512);
  CHECK(job.batch_per_host);
  CHECK(job.optimizer.weight_decay == 5e-5);
  CHECK(job.print_freq == 50);
  CHECK(job.epochs == 10);
  CHECK(job.resume_path == "checkpoint.pth.tar");
  CHECK(job.seed == 123);
  CHECK(job.schedule.lr == 0.2);
  CHECK(job.backend == "auto");
  CHECK(arguments.nodes.count == 3);
  CHECK(arguments.nodes.rank == 1);
  // Options that are not given have the defaults of PyTorch's imagenet example.
  CHECK(job.schedule.kind == train::ScheduleOptions::Kind::step);
  CHECK(job.size == 224);
  CHECK(parsed({"data"}).job.model.name == "resnet18");
  CHECK(parsed({"data", "--recipe", "resnet50"}).job.model.name == "resnet50");
  REQUIRE(arguments.ineffective.size() == 2);
  CHECK_THAT(arguments.ineffective[0], Contains("--gpu has no effect: "));
  CHECK_THAT(arguments.ineffective[1], Contains("--start-epoch has no effect: "));
}

TEST_CASE("the imagenet example's other flags and spellings are accepted") {
  CHECK(parsed({"-e", "--resume", "x", "data"}).job.eval_only);
  CHECK(parsed({"--evaluate", "data"}).job.data == "data");
  CHECK(parsed({"-j4"}).job.workers == 4);
  CHECK(parsed({"-b=64"}).job.batch_size == 64);
  CHECK(parsed({"--no-accel"}).job.device == "cpu");
  CHECK(parsed({"--pretrained"}).job.weights == "pretrained");
  CHECK(parsed({"--dummy"}).job.train_dir == "synthetic:1281167:1000:224x224");
  CHECK(parsed({"--dummy"}).job.val_dir == "synthetic:50000:1000:224x224");
  CHECK(parsed({"--world-size", "-1", "--rank", "-1"}).nodes.count == 1);
  const Arguments tcp = parsed({"--dist-url", "tcp://10.0.0.1:2345"});
  CHECK(tcp.nodes.master_addr == "10.0.0.1");
  CHECK(tcp.nodes.master_port == 2345);
  CHECK_THROWS_WITH(parsed({"--dist-url", "file:///x"}), Contains("--dist-url"));
  CHECK_THROWS_WITH(parsed({"--dist-url", "tcp://host"}), Contains("tcp://HOST:PORT"));
  CHECK_THROWS_WITH(parsed({"-b"}), Contains("-b needs a value"));
  CHECK_THROWS_WITH(parsed({"-ex"}), Contains("unknown option"));
  CHECK_THROWS_WITH(parsed({"--multiprocessing-distributed=maybe"}), Contains("true or false"));
  CHECK_THROWS_WITH(app::parse(Command::eval, {"-b", "3"}), Contains("unknown option"));
}

TEST_CASE("SMDDP's hyperparameters keep their meaning") {
  const std::string json = "hyperparameters.json";
  const Arguments arguments = parsed({}, {{"mode", "train", json},
                                          {"arch", "efficientnet-b4", json},
                                          {"use_amp", "", json},
                                          {"use_xla", "", json},
                                          {"max_epochs", "5", json},
                                          {"train_batch_size", "64", json},
                                          {"lr_init", "0.005", json},
                                          {"batch_norm", "syncbn", json},
                                          {"mixup_alpha", "0.2", json},
                                          {"weight_decay", "5e-6", json}});
  const train::Job& job = arguments.job;
  CHECK(job.model.name == "efficientnet_b4");
  CHECK(job.amp == train::Precision::bf16);
  CHECK(job.epochs == 5);
  CHECK(job.batch_size == 64);
  CHECK(job.schedule.lr == 0.005);
  CHECK(job.scale_lr == 128);
  CHECK(job.sync_bn);
  CHECK(job.mix.mixup == 0.2);
  CHECK(job.optimizer.weight_decay == 5e-6);
  // Options that are not given have the defaults of the trainer in the examples of SMDDP,
  // SageMaker's library for data parallelism.
  CHECK(job.optimizer.kind == train::OptimizerOptions::Kind::rmsprop);
  CHECK(job.optimizer.eps == 0.001);
  CHECK(job.schedule.warmup_epochs == 5);
  CHECK(job.label_smoothing == 0.1);
  REQUIRE(arguments.ineffective.size() == 1);
  CHECK_THAT(arguments.ineffective[0], Contains("--use-xla has no effect"));
  CHECK(arguments.origins.at("lr") == json);
}

TEST_CASE("SMDDP's options are accepted on a command line as a toolkit writes it") {
  const Arguments arguments =
      parsed({"--arch", "efficientnet-b0", "--use_amp", "", "--use_xla", "", "--lr_init", "0.016",
              "--moving_average_decay", "0.9999", "--lr_decay", "cosine", "--time_history",
              "--run_eagerly", "False", "--model_dir", "s3://bucket/x", "--resume_checkpoint"});
  CHECK(arguments.job.model.name == "efficientnet_b0");
  CHECK(arguments.job.ema == 0.9999);
  CHECK(arguments.job.schedule.kind == train::ScheduleOptions::Kind::cosine);
  CHECK(arguments.job.output == train::Job().output);
  CHECK(arguments.job.resume);
  CHECK(parsed({"--model_dir", "/results"}).job.output == "/results");
  CHECK(parsed({"--use_amp", "False"}).job.amp == train::Precision::off);
  CHECK(parsed({"--dtype", "float16"}).job.amp == train::Precision::bf16);
  CHECK(parsed({"--mode", "eval"}).job.eval_only);
  CHECK_THROWS_WITH(parsed({"--mode", "predict"}), Contains("shoal predict"));
  CHECK_THROWS_WITH(parsed({"--mode", "training_benchmark"}), Contains("shoal bench"));
  CHECK_THROWS_WITH(parsed({"--lr_decay", "linearcosine"}), Contains("--schedule"));
  const auto unused = [](const std::string& option) {
    return parsed({option, "4"}).ineffective.at(0);
  };
  CHECK_THAT(unused("--n_stages"), Contains("--size-schedule"));
  CHECK_THAT(unused("--base_mixup"), Contains("--strength-schedule"));
}

TEST_CASE("NVIDIA's PyTorch command line is accepted unchanged") {
  const Arguments arguments = parsed({"/imagenet",
                                      "--data-backend",
                                      "dali-cpu",
                                      "--arch",
                                      "efficientnet-b4",
                                      "--lr",
                                      "0.16",
                                      "--end-lr",
                                      "0.001",
                                      "--warmup",
                                      "16",
                                      "--lr-schedule",
                                      "cosine",
                                      "--optimizer",
                                      "rmsprop",
                                      "--rmsprop-alpha",
                                      "0.9",
                                      "--rmsprop-eps",
                                      "0.01",
                                      "--mixup",
                                      "0.2",
                                      "-b",
                                      "128",
                                      "--optimizer-batch-size",
                                      "4096",
                                      "--survival_prob",
                                      "0.75",
                                      "--amp",
                                      "--static-loss-scale",
                                      "128",
                                      "--memory-format",
                                      "nhwc",
                                      "--use-ema",
                                      "0.9999",
                                      "--workspace",
                                      "out",
                                      "--augmentation",
                                      "autoaugment"});
  const train::Job& job = arguments.job;
  CHECK(job.data == "/imagenet");
  CHECK(job.model.name == "efficientnet_b4");
  CHECK(job.schedule.min_lr == 0.001);
  CHECK(job.schedule.warmup_epochs == 16);
  CHECK(job.optimizer.eps == Approx(1e-4));  // the square of --rmsprop-eps
  CHECK(job.batch_size == 128);
  CHECK(job.global_batch_size == 4096);
  CHECK(job.model.drop_path == 0.25);
  CHECK(job.amp == train::Precision::bf16);
  CHECK(job.ema == 0.9999);
  CHECK(job.output == "out");
  CHECK(job.augment.policy == "v0");
  CHECK(arguments.ineffective.size() == 2);
  CHECK_FALSE(parsed({"--optimizer-batch-size", "-1"}).job.global_batch_size);
  CHECK(parsed({"--data-backend", "synthetic"}).job.train_dir.starts_with("synthetic:"));
  CHECK_THROWS_WITH(parsed({"--survival_prob", "most"}), Contains("a number"));
}

TEST_CASE("sgd of NVIDIA's TensorFlow program has no momentum") {
  const auto optimizer = [](const char* name) {
    return parsed({"--lr_init", "0.1", "--optimizer", name}).job.optimizer;
  };
  CHECK(optimizer("sgd").momentum == 0);
  CHECK(optimizer("momentum").kind == train::OptimizerOptions::Kind::sgd);
  CHECK(optimizer("momentum").momentum == 0.9);
}

TEST_CASE("warmup_epochs among SMDDP's options does not set the learning rate's warm-up") {
  const std::string json = "hyperparameters.json";
  const Arguments theirs =
      parsed({"--max_epochs", "50", "--warmup_epochs", "7"}, {{"warmup_epochs", "7", json}});
  CHECK(theirs.job.schedule.warmup_epochs == 5);  // from the recipe
  REQUIRE(theirs.ineffective.size() == 1);
  CHECK_THAT(theirs.ineffective[0], Contains("--lr_warmup_epochs"));
  CHECK(parsed({"--max_epochs", "50", "--lr_warmup_epochs", "7"}).job.schedule.warmup_epochs == 7);
  CHECK(parsed({"--max_epochs", "50", "--warmup-epochs", "7"}).job.schedule.warmup_epochs == 7);
  CHECK(parsed({"--warmup_epochs", "7"}).job.schedule.warmup_epochs == 7);
  CHECK(parsed({}, {{"warmup_epochs", "7", json}}).job.schedule.warmup_epochs == 7);
}

TEST_CASE("a misspelt option of shoal is not mapped to another program's option") {
  CHECK(app::nearest_option(Command::train, "modle") == "model");
}
