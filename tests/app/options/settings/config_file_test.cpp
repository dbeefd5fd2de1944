#include "app/options/settings/config_file.h"

#include <catch2/catch.hpp>

#include "app/options/settings/settings.h"
#include "base/text.h"
#include "tests/app/platform/fake_files.h"
#include "tests/support/capture.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using Words = std::vector<std::string>;

namespace {

// Parses `words` with --config /NAME, a fake file with the content `text`.
Arguments with_file(const std::string& name, const std::string& text, Words words = {"train"},
                    const dist::Variables& environment = {}) {
  words.insert(words.end(), {"--config", "/" + name});
  return app::gather(words, environment, test::fake({}, {{"/" + name, text}}));
}

Arguments with_toml(const std::string& text, const Words& words = {"train"}) {
  return with_file("run.toml", text, words);
}

}  // namespace

TEST_CASE("a YAML file with several documents is refused") {
  CHECK_THROWS_WITH(with_file("run.yaml", "epochs: 3\n---\nlr: 0.1\n"),
                    Contains("several YAML documents"));
}

TEST_CASE("TOML and YAML, flat and grouped, give the same settings with file and line") {
  const std::string flat_toml =
      "model = \"resnet50\"\nepochs = 7\nlr = 1e-3\nnesterov = true\nprogress = false\n"
      "mean = [0.5, 0.25, 0.125]\nsize_schedule = { 0 = 64, 10 = 128 }\nema = false\n";
  const std::string grouped_toml =
      "[model]\nmodel = \"resnet50\"\n[length-and-batch]\nepochs = 7.0\n"
      "[learning_rate]\nlr = 0.001\n[optimizer]\nnesterov = true\nema = \"none\"\n"
      "[output-and-checkpoints]\nprogress = false\n[data]\nmean = \"0.5,0.25,0.125\"\n"
      "[data.size-schedule]\n0 = 64\n10 = 128\n";
  const std::string flat_yaml =
      "model: resnet50\nepochs: 7\nlr: 1.0e-3\nnesterov: yes\nprogress: off\n"
      "mean: [0.5, 0.25, 0.125]\nsize-schedule: {0: 64, 10: 128}\nema: false\nsync_bn: ~\n";
  const std::string grouped_yaml =
      "model:\n  model: resnet50\nlength-and-batch:\n  epochs: 7\nlearning-rate:\n  lr: 0.001\n"
      "optimizer:\n  nesterov: True\noutput-and-checkpoints:\n  progress: False\n"
      "data:\n  mean:\n  - 0.5\n  - 0.25\n  - 0.125\n  size-schedule:\n  - [0, 64]\n  - [10, "
      "128]\n";
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"run.toml", flat_toml},
                                                        {"run.toml", grouped_toml},
                                                        {"run.yaml", flat_yaml},
                                                        {"run.yml", grouped_yaml}}) {
    INFO(text);
    const Arguments arguments = with_file(name, text);
    CHECK(arguments.job.model.name == "resnet50");
    CHECK(arguments.job.epochs == 7);
    CHECK(arguments.job.schedule.lr == 0.001);
    CHECK(arguments.job.optimizer.nesterov);
    CHECK_FALSE(arguments.job.progress);
    CHECK_FALSE(arguments.job.ema);
    CHECK_FALSE(arguments.job.sync_bn);
    REQUIRE(arguments.job.mean);
    CHECK((*arguments.job.mean)[1] == 0.25);
    CHECK(app::find_option(Command::train, "size-schedule")->get(arguments) == "0:64,10:128");
    CHECK(arguments.notes.empty());
  }
  CHECK(with_toml(flat_toml).origins.at("lr") == "/run.toml:3");
  CHECK(with_file("run.yml", grouped_yaml).origins.at("epochs") == "/run.yml:4");
}

TEST_CASE("errors of a settings file name file, line and name, and what to do") {
  const auto error = [](const std::string& text) { return Contains(text); };
  CHECK_THROWS_WITH(with_toml("lr = 0.1\nlerning-rate = 1\nepoch = 3\n"),
                    error("/run.toml: unknown settings lerning-rate (line 2") &&
                        error("epoch (line 3; did you mean epochs?)"));
  CHECK_THROWS_WITH(with_toml("no-ema = true\n"), error("no-ema (line 1; write ema = false)"));
  CHECK_THROWS_WITH(with_toml("[optimiser]\nmomentum = 1\n"),
                    error("/run.toml:2: unknown group optimiser; did you mean optimizer?"));
  CHECK_THROWS_WITH(with_toml("[zebra]\nlr = 1\n"), error("the groups are general, data"));
  CHECK_THROWS_WITH(with_toml("\nepochs = \"many\"\n"),
                    error("--epochs is 'many' (/run.toml:2)") && error("must be a number"));
  CHECK_THROWS_WITH(with_toml("epochs = [1, 2]\n"), error("--epochs is") && error("run.toml:1"));
  CHECK_THROWS_WITH(with_toml("data = 2020-01-01\n"), error("/run.toml:1: data is a date"));
  CHECK_THROWS_WITH(with_toml("mean = [[[[1]]]]\n"), error("/run.toml:1: mean nests too deep"));
  const std::string deep(200'000, '[');  // would overflow the stack of a parser without a limit
  CHECK_THROWS_AS(with_toml("mean = " + deep), UserError);
  CHECK_THROWS_AS(with_file("run.yml", "mean: " + deep), UserError);
  // yaml-cpp finds endlessly many documents in it.
  CHECK_THROWS_WITH(with_file("run.yml", ",\n"), error("/run.yml:1: not valid YAML"));
  // A billion elements in three lines.
  const auto list = [](const char* item) { return "[" + joined(Words(1000, item)) + "]\n"; };
  const std::string aliases = "a: &a " + list("1") + "b: &b " + list("*a") + "mean: " + list("*b");
  CHECK_THROWS_WITH(with_file("run.yml", aliases), error("repeats too much with aliases"));
  CHECK_THROWS_WITH(with_toml("output = true\n"), error("--output is 'true' (/run.toml:1)"));
  CHECK_THROWS_WITH(with_toml("output = \"\"\n"), error("/run.toml:1: output is empty"));
  CHECK_THROWS_WITH(with_toml("optimizer = \"lion\"\n"),
                    error("(/run.toml:1)") && error("it must be sgd, "));
  CHECK_THROWS_WITH(with_toml("batch-size = 1\n[length-and-batch]\nbatch_size = 1\n"),
                    error("/run.toml:3: batch_size is given twice, also in line 1"));
  CHECK_THROWS_WITH(with_toml("config = \"x.toml\"\n"), error("belongs on the command line"));
  CHECK_THROWS_WITH(with_toml("lr = 0.1\nlr = = 2\n"), error("/run.toml:2: not valid TOML"));
  CHECK_THROWS_WITH(with_toml("[?]\nlr = 1\n"), error("/run.toml:1: not valid TOML"));
  CHECK_THROWS_WITH(with_file("run.yaml", "lr: 1\n- x\n"),
                    error("/run.yaml:2: not valid YAML") || error("/run.yaml:3: not valid YAML"));
  CHECK_THROWS_WITH(with_file("run.yaml", "- lr\n"), error("/run.yaml:1:") && error("NAME: VALUE"));
  CHECK_THROWS_WITH(with_file("run.yaml", "lr: 1\nlr-decay-epochs: [\"\xff\"]\n"),
                    error("/run.yaml:2:") && error("lr-decay-epochs") && error("UTF-8"));
  CHECK_THROWS_WITH(with_file("run.json", "{}"), error(".toml, .yaml or .yml"));
  CHECK_THROWS_WITH(app::gather({"train", "--config", "/gone.toml"}, {}, test::fake({}, {})),
                    error("--config: there is no file /gone.toml"));
  CHECK(with_toml("").notes.empty());
  CHECK(with_file("run.yaml", "# nothing\n").notes.empty());
}

TEST_CASE("of many unknown settings, the error names the first ten") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "unknown-" + std::to_string(i) + " = 1\n";
  CHECK_THROWS_WITH(with_toml(text), Contains("unknown-9 (line 10) and 99990 more; see"));
}

TEST_CASE("the command line and hyperparameters replace the file, which replaces the recipe") {
  const std::string text = "recipe = \"demo\"\nlr = 0.1\nepochs = 5\nmomentum = 0.5\nclip = 3\n";
  const auto arguments = app::gather(
      {"train", "--config", "/run.toml", "--lr", "0.2", "--momentum", "0.5"},
      {{"SM_HPS", R"({"epochs": 6, "clip": 3})"}}, test::fake({}, {{"/run.toml", text}}));
  CHECK(arguments.job.schedule.lr == 0.2);
  CHECK(arguments.job.epochs == 6);
  CHECK(arguments.recipe == "demo");
  CHECK(arguments.origins.at("schedule") == "recipe demo");
  REQUIRE(arguments.notes.size() == 1);  // none for momentum and clip: their values agree
  CHECK_THAT(arguments.notes[0],
             Contains("/run.toml:2 gives lr 0.1") && Contains("0.2 (command line)") &&
                 Contains("/run.toml:3 gives epochs 5") && Contains("6 (SM_HPS)") &&
                 !Contains("momentum") && !Contains("clip"));
  // A hyperparameter may name the file.
  CHECK(app::gather({"train"}, {{"SM_HPS", R"({"config": "/run.toml"})"}},
                    test::fake({}, {{"/run.toml", text}}))
            .job.epochs == 5);
}

TEST_CASE("commands can share a file: options of other commands are listed and ignored") {
  const std::string text = "lr = 0.1\nbatch-size = 9\ntopk = 2\narch = \"resnet18\"\n";
  const Arguments eval = with_toml(text, {"eval"});
  CHECK(eval.job.batch_size == 9);
  REQUIRE(eval.notes.size() == 1);
  CHECK_THAT(eval.notes[0], Contains("`shoal eval` does not have") && Contains("lr, topk, arch"));
  CHECK(with_toml("quality = 80\n", {"pack", "a", "b"}).pack.quality == 80);
  for (const char* command : {"eval", "predict", "export"}) {
    CHECK(with_toml("ema = 0.9", {command}).use_ema);  // the decay of train
    CHECK_FALSE(with_toml("ema = false", {command}).use_ema);
  }
  const Arguments train = with_toml(text);  // `arch` is another program's name for `model`
  CHECK(train.job.model.name == "resnet18");
  CHECK_THROWS_WITH(with_toml("lrx = 1\n", {"eval"}), Contains("unknown setting lrx"));
  CHECK_THROWS_WITH(with_toml("input-size = \"x\"\n"),
                    Contains("/run.toml:1: --input-size is 'x'"));
}

TEST_CASE("timm's args.yaml is read: known arguments are translated, the others are listed") {
  const std::string text = test::read_text(SHOAL_SOURCE_DIR "/tests/golden/timm_args.yaml");
  const Arguments arguments = with_file("args.yaml", text);
  const train::Job& job = arguments.job;
  CHECK(job.data == "photos");
  CHECK(job.model.name == "efficientnet_b0");
  CHECK(job.size == 224);
  CHECK(job.channels == 3);
  CHECK(job.batch_size == 64);
  CHECK(job.epochs == 450);
  CHECK(job.optimizer.kind == train::OptimizerOptions::Kind::rmsprop);
  CHECK(job.optimizer.eps == 0.001);
  CHECK(job.optimizer.weight_decay == 1e-5);
  CHECK(job.optimizer.clip == 2);
  CHECK(job.schedule.kind == train::ScheduleOptions::Kind::step);
  CHECK(job.schedule.lr == 0.048);  // not the file's lr_base, which has timm's default
  CHECK_FALSE(job.scale_lr);
  CHECK(job.schedule.decay_epochs == 2.4);
  CHECK(job.schedule.decay_rate == 0.97);
  CHECK(job.schedule.warmup_epochs == 3);
  CHECK(job.schedule.warmup_start == 1e-6 / 0.048);
  CHECK(job.ema == 0.9999);
  CHECK(job.amp == train::Precision::bf16);
  CHECK(job.augment.policy == "rand-m9-mstd0.5");
  CHECK(job.augment.color_jitter ==
        Arguments().job.augment.color_jitter);  // timm ignores color jitter if there is a policy
  CHECK(job.mix.mixup == 0.2);
  CHECK(job.mix.erase == 0.2);
  CHECK(job.mix.erase_count == 2);
  CHECK(job.model.dropout == 0.25);
  CHECK(job.model.drop_path == 0);
  CHECK(job.label_smoothing == 0.1);
  CHECK(job.repeated_augmentation == 1);
  CHECK(job.keep == 4);
  CHECK(job.print_freq == 25);
  CHECK(job.workers == 8);
  CHECK(job.val_split == 0);
  CHECK_FALSE(job.resume);
  CHECK(job.weights.empty());
  CHECK(arguments.ineffective.empty());
  REQUIRE(arguments.notes.size() == 1);
  CHECK_THAT(arguments.notes[0],
             StartsWith("/args.yaml: ignored") &&
                 EndsWith(": amp_dtype, channels_last, cooldown_epochs, decay_milestones, device, "
                          "dist_bn, eval_metric, kd_distill_type, kd_loss_type, kd_temperature, "
                          "kd_token_distill_type, lr_cycle_decay, lr_cycle_limit, lr_cycle_mul, "
                          "lr_k_decay, lr_noise_pct, lr_noise_std, naflex_loss_scale, "
                          "naflex_max_seq_len, naflex_train_seq_lens, patience_epochs, "
                          "train_size_random_mix, train_size_schedule, train_size_schedule_spread, "
                          "train_split, val_interval, val_split, worker_seeding"));
}

TEST_CASE("timm's args.yaml may select binary cross-entropy") {
  const std::string text = test::read_text(SHOAL_SOURCE_DIR "/tests/golden/timm_args.yaml");
  std::string binary;
  for (const std::string& line : split(text, '\n')) {
    if (line == "bce_loss: false" || line == "bce_sum: false")
      binary += line.substr(0, line.find(' ')) + " true\n";
    else if (line == "bce_target_thresh: null")
      binary += "bce_target_thresh: 0.2\n";
    else
      binary += line + "\n";
  }
  const train::Job job = with_file("args.yaml", binary).job;
  CHECK(job.loss == train::Loss::binary);
  CHECK(job.bce_threshold == 0.2);
  CHECK(job.bce_sum);
}
