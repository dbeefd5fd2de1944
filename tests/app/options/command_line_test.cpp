#include <catch2/catch.hpp>

#include "app/options/options.h"
#include "tests/app/options/parsed.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using Catch::Contains;
using test::parsed;

TEST_CASE("values may follow as a word or after an equals sign, and the last one wins") {
  CHECK(parsed({"--lr", "0.5"}).job.schedule.lr == 0.5);
  CHECK(parsed({"--lr=0.5"}).job.schedule.lr == 0.5);
  CHECK(parsed({"--lr=0.5", "--lr", "0.25"}).job.schedule.lr == 0.25);
  CHECK(parsed({"--batch_size", "8"}).job.batch_size == 8);
  CHECK_THROWS_WITH(parsed({"--lr", "-1"}), Contains("--lr is '-1'") && Contains("above 0"));
  CHECK(parsed({"--output", "a=b"}).job.output == "a=b");
  for (const std::string value : {"a\nb", "-", "--x"}) {
    CHECK(parsed({"--output=" + value, "--lr", "0.5"}).job.output == value);
    CHECK(parsed({"--output", value, "--lr", "0.5"}).job.output == value);
  }
}

TEST_CASE("an option's letter takes its value like the long form") {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"-o", "m.onnx"}, {"-om.onnx"}, {"-o=m.onnx"}})
    CHECK(app::parse(Command::export_, words).export_to == "m.onnx");
  CHECK_THROWS_WITH(app::parse(Command::export_, {"-o"}), Contains("--output needs a value"));
  CHECK_THROWS_WITH(app::parse(Command::inspect, {"-o", "x"}), Contains("-o"));
}

TEST_CASE("flags may be given alone, negated, or with a value") {
  CHECK(parsed({"--sync-bn"}).job.sync_bn);
  CHECK(parsed({"--sync_bn", "True"}).job.sync_bn);
  CHECK_FALSE(parsed({"--sync-bn", "false"}).job.sync_bn);
  CHECK_FALSE(parsed({"--sync-bn=false"}).job.sync_bn);
  CHECK(parsed({"--sync-bn", ""}).job.sync_bn);
  CHECK_FALSE(parsed({"--no-progress"}).job.progress);
  CHECK_FALSE(parsed({"--progress", "--no-progress"}).job.progress);
  CHECK(parsed({"--no-progress", "--progress"}).job.progress);
  CHECK_THROWS_WITH(parsed({"--no-progress=true"}), Contains("takes no value"));
}

TEST_CASE("resume may be given alone or with a path") {
  CHECK_FALSE(parsed({}).job.resume);
  CHECK(parsed({"--resume"}).job.resume);
  CHECK(parsed({"--resume"}).job.resume_path.empty());
  CHECK(parsed({"--resume", "runs/x"}).job.resume_path == "runs/x");
  CHECK(parsed({"--resume=runs/x"}).job.resume);
  const Arguments between = parsed({"--resume", "--lr", "2"});
  CHECK(between.job.resume);
  CHECK(between.job.resume_path.empty());
  CHECK(between.job.schedule.lr == 2);
  CHECK_FALSE(parsed({"--resume", "false"}).job.resume);
  CHECK(parsed({"--resume", "true"}).job.resume_path.empty());
}

TEST_CASE("missing values, stray words and unknown options are user errors") {
  CHECK_THROWS_AS(parsed({"--lr"}), UserError);
  CHECK_THROWS_WITH(parsed({"--lr"}), Contains("--lr needs a value"));
  CHECK_THROWS_WITH(parsed({"--data", "--val", "x"}),
                    Contains("--data needs a value, but --val follows"));
  CHECK_THROWS_WITH(parsed({"data", "images"}), Contains("unexpected word 'images'"));
  CHECK_THROWS_WITH(app::parse(Command::check, {"a", "b"}), Contains("unexpected word 'b'"));
  CHECK_THROWS_WITH(parsed({"--epoch", "3"}), Contains("--epochs?"));
  CHECK_THROWS_WITH(parsed({"-x"}), Contains("unknown option"));
}

TEST_CASE("a single word of train and check is the data folder; train also takes a recipe") {
  const Arguments trained = parsed({"images", "-o", "out"});
  CHECK(trained.job.data == "images");
  CHECK(trained.job.output == "out");
  CHECK_FALSE(trained.recipe.empty());
  const Arguments checked = app::parse(Command::check, {"images"});
  CHECK(checked.job.data == "images");
  CHECK(checked.recipe.empty());
}

TEST_CASE("all unknown options are named at once, with a hint only where one is plausible") {
  CHECK_THROWS_WITH(parsed({"--data-path", "x", "--epochs", "2", "--foo_bar", "-1", "--epoch=3",
                            "-x", "--quiet"}),
                    Contains("--data-path (did you mean --data?)") &&
                        Contains("--foo_bar, --epoch (did you mean --epochs?), -x, --quiet of") &&
                        Contains("shoal train --help"));
  CHECK_THROWS_WITH(app::parse(Command::eval, {"--chekpoint", "x", "--lr", "1"}),
                    Contains("--chekpoint (did you mean --checkpoint?), --lr of") &&
                        Contains("shoal eval --help"));
  CHECK_THROWS_WITH(app::parse(Command::predict, {"a.jpg", "--quiet", "--jobs", "8"}),
                    (Contains("--quiet, --jobs") && Contains("shoal predict")));
  CHECK_THROWS_WITH(
      app::parse(Command::pack, {"a", "b", "--max-size=3", "--jobs", "4"}),
      (Contains("--max-size") && Contains("did you mean --max-side") && Contains("--jobs")));
}

TEST_CASE("predict takes paths before, between and after options") {
  const Arguments arguments =
      app::parse(Command::predict,
                 {"a.jpg", "--checkpoint", "last", "b.jpg", "--json", "c.jpg", "--", "--odd.jpg"});
  CHECK(arguments.paths == std::vector<std::string>{"a.jpg", "b.jpg", "c.jpg", "--odd.jpg"});
  CHECK(arguments.job.checkpoint == "last");
  CHECK(arguments.json);
}

TEST_CASE("an empty argument is refused") {
  for (const Command command : {Command::train, Command::pack, Command::models, Command::report})
    CHECK_THROWS_WITH(app::parse(command, {""}), Contains("an argument is empty"));
}

TEST_CASE("commands with results accept -o for --output, and weights with --weights") {
  CHECK(app::parse(Command::eval, {"-o", "x"}).eval.output == "x");
  CHECK(app::parse(Command::predict, {"-o", "x"}).predict_output == "x");
  CHECK(app::parse(Command::export_, {"-o", "x"}).export_to == "x");
  CHECK(app::parse(Command::average, {"-ox"}).average_output == "x");
  CHECK(app::parse(Command::report, {"-o=x"}).report.output == "x");
  for (const Command command :
       {Command::eval, Command::predict, Command::export_, Command::average, Command::inspect}) {
    const Arguments arguments = app::parse(command, {"a", "--weights", "b"});
    CHECK(arguments.paths == std::vector<std::string>{"a"});
    CHECK(arguments.job.weights == "b");
  }
  CHECK_THROWS_WITH(app::parse(Command::average, {"--weights", "a", "--weights=b"}),
                    Contains("--weights is given twice"));
}

TEST_CASE("hyperparameters override a recipe, and the command line overrides both") {
  const Arguments plain = parsed({"--recipe", "resnet50"});
  CHECK(plain.job.schedule.lr == 0.1);
  CHECK(plain.job.model.name == "resnet50");
  CHECK(plain.origins.at("lr") == "recipe resnet50");
  const std::vector<app::Setting> settings = {{"lr", "0.1", "SM_HPS"},
                                              {"lr", "0.2", "hyperparameters.json"},
                                              {"momentum", "0.5", "hyperparameters.json"}};
  // Options override the recipe, whether they come before or after it.
  const Arguments all = parsed({"--lr", "0.3", "--recipe", "resnet50"}, settings);
  CHECK(all.job.schedule.lr == 0.3);
  CHECK(all.job.optimizer.momentum == 0.5);
  CHECK(all.origins.at("momentum") == "hyperparameters.json");
  CHECK(parsed({}, settings).job.schedule.lr == 0.2);
  CHECK(all.origins.at("lr") == "command line");
  CHECK(parsed({}, {{"recipe", "demo", "SM_HPS"}}).job.size == 64);
  CHECK(parsed({"--recipe", "list"}).recipe == "list");
  CHECK_THROWS_WITH(parsed({"--recipe", "resnet5"}), Contains("resnet50?"));
  CHECK_THROWS_WITH(parsed({}, {{"lerning_rate", "1", "SM_HPS"}}), Contains("(SM_HPS)"));
}

TEST_CASE("amp may be given alone or with a precision, and does not consume a data folder") {
  CHECK(parsed({"--amp"}).job.amp == train::Precision::bf16);
  CHECK(parsed({"--amp", "off"}).job.amp == train::Precision::off);
  CHECK_THROWS_WITH(parsed({"--amp", "fp16"}), Contains("off or bf16: bf16 is as fast"));
  const Arguments arguments = parsed({"--amp", "images"});
  CHECK(arguments.job.amp == train::Precision::bf16);
  CHECK(arguments.job.data == "images");
  CHECK(parsed({}, {{"amp", "", "SM_HPS"}}).job.amp == train::Precision::bf16);
}

TEST_CASE("with --data, a stray word is an error and not a data folder") {
  CHECK(parsed({"images"}).job.data == "images");
  CHECK_THROWS_WITH(parsed({"--data", "images", "--amp", "fp8"}),
                    Contains("unexpected word 'fp8'"));
  CHECK_THROWS_WITH(parsed({"--train", "a", "--val", "b", "c"}), Contains("unexpected word 'c'"));
  CHECK(parsed({"images", "--val", "b"}).job.data == "images");
}

TEST_CASE("words after an option's value name the option and the pattern that the shell expanded") {
  CHECK_THROWS_WITH(parsed({"--train", "cifar/data_batch_1.bin", "cifar/data_batch_2.bin",
                            "cifar/data_batch_3.bin", "--val", "cifar/test_batch.bin"}),
                    Contains("'cifar/data_batch_2.bin' after --train cifar/data_batch_1.bin") &&
                        Contains("one value") && Contains("--train 'cifar/data_batch_*.bin'"));
  CHECK_THROWS_WITH(parsed({"--val", "v.csv", "valq.csv", "--train", "t"}), Contains("'v*.csv'"));
  // Without --val, a single word is the data folder, unless it looks like a file from a pattern.
  CHECK_THROWS_WITH(parsed({"--train", "t.csv", "q.csv", "--val-split", "0.1"}),
                    Contains("'*.csv'"));
  CHECK(parsed({"--train", "a", "b"}).job.data == "b");
  CHECK(parsed({"--train", "photos/train", "photos/test"}).job.data == "photos/test");
  // The error suggests a pattern only for --train and --val, and only for paths in one folder.
  CHECK_THROWS_WITH(parsed({"--data", "d", "--epochs", "3", "4"}),
                    Contains("--epochs takes one value") && !Contains("pattern"));
  for (const char* other : {"b/2.bin", "2.bin", "a/b/2.bin"})
    CHECK_THROWS_WITH(parsed({"--train", "a/1.bin", other, "--val", "v"}),
                      Contains(std::string("'") + other + "'") && !Contains("pattern"));
}

TEST_CASE("a global batch size overrides the recipe's batch size") {
  CHECK(parsed({"--recipe", "imagenet_example"}).job.batch_size == 256);
  CHECK_FALSE(parsed({"--recipe", "imagenet_example", "--global-batch-size", "8"}).job.batch_size);
}
