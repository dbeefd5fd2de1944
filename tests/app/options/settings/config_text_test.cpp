#include "app/options/settings/config_text.h"

#include <catch2/catch.hpp>

#include "app/options/settings/config_file.h"
#include "app/options/settings/settings.h"
#include "tests/app/platform/fake_files.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using app::Option;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

std::string text_of(const Arguments& arguments) {
  return app::config_text(arguments, {"1.2.3", "abc", "shoal train", "", {{"name", "host\n1"}}});
}

Arguments read_back(Command command, const std::string& text, const Words& words = {}) {
  Words all = {app::command_name(command), "--config", "/again.toml"};
  all.insert(all.end(), words.begin(), words.end());
  return app::gather(all, {{"HOME", "/home"}}, test::fake({}, {{"/again.toml", text}}));
}

// Returns all settings as NAME=VALUE, except --config.
Words settings_of(const Arguments& arguments) {
  Words result;
  for (const Option& option : app::options())
    if (option.is_for(arguments.command) && option.name != "config")
      result.push_back(option.name + "=" + option.get(arguments));
  return result;
}

// Returns values that differ from the default, each accepted by the option.
Words other_values(const Option& option, Command command) {
  Words candidates = option.choices;
  for (const char* text : {"true",
                           "false",
                           "7",
                           "64",
                           "0.3",
                           "1e-05",
                           "0.30000000000000004",
                           "12345678901",
                           "007",
                           "a \"b\"\\\t#=é",
                           "none",
                           "demo",
                           "rand-m9-n2",
                           "0.4,0.3,0.2",
                           "0:64,10:96",
                           "64-128",
                           "image=a,label=b",
                           "0.5",
                           "2",
                           "1",
                           "16G"})
    candidates.push_back(text);
  if (!option.off.empty()) candidates.push_back(option.off);
  Words values;
  for (const std::string& value : candidates) {
    Arguments arguments;
    arguments.command = command;
    try {
      app::apply(arguments, option.name, value, app::kCommandLine);
    } catch (const UserError&) {
      continue;
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

TEST_CASE("the printed settings of every option give the same settings when they are read") {
  int checked = 0;
  for (const app::CommandRow& row : app::commands()) {
    for (const Option& option : app::options()) {
      if (!option.is_for(row.command) || option.name == "help" || option.name == "config") continue;
      if (app::find_option(row.command, option.name) != &option) continue;
      if (option.name == "recipe") continue;  // it sets other options; see the next test
      if (option.name == "resume") continue;  // only printed as a comment
      const Words values = other_values(option, row.command);
      INFO(row.name << " --" << option.name);
      REQUIRE(values.size() >= 1);
      const std::string before = option.get(Arguments());
      bool changed = false;
      for (const std::string& value : values) {
        Arguments arguments;
        arguments.command = row.command;
        app::apply(arguments, option.name, value, app::kCommandLine);
        changed = changed || option.get(arguments) != before;
        const std::string text = text_of(arguments);
        INFO(text);
        Arguments again = app::parse(
            row.command, {},
            app::read_config(row.command, "/again.toml", test::fake({}, {{"/again.toml", text}}))
                .settings);
        CHECK(settings_of(again) == settings_of(arguments));
        CHECK(again.origins.size() == 1);  // nothing else counts as given
        ++checked;
      }
      CHECK(changed);
    }
  }
  CHECK(checked > 500);
}

TEST_CASE("a run from printed settings has the settings of the first, with their origins") {
  const std::string file = "lr = 0.25\nema = 0.99\n";
  const Arguments first =
      app::gather({"train", "photos", "--recipe", "resnet50_v2", "--no-ema", "--config", "/a.toml",
                   "--max-steps", "9", "--max-steps", "none"},
                  {{"HOME", "/home"}}, test::fake({}, {{"/a.toml", file}}));
  const std::string text = text_of(first);
  INFO(text);
  CHECK_THAT(text, Contains("\nrecipe = \"resnet50_v2\"  # command line\n"));
  CHECK_THAT(text, Contains("\nlr = 0.25  # /a.toml:1\n"));
  CHECK_THAT(text, Contains("\ndata = \"photos\"  # command line\n"));
  CHECK_THAT(text, Contains("\nema = \"none\"  # command line\n"));
  CHECK_THAT(text, Contains("\n# epochs = 600  # recipe resnet50_v2\n"));
  CHECK_THAT(text, Contains("\n# momentum = 0.9  # recipe resnet50_v2\n"));
  CHECK_THAT(text, Contains("\n# print-freq = 10  # default\n"));
  CHECK_THAT(text, Contains("\n[learning-rate]\n") && Contains("shoal 1.2.3 (abc)"));
  CHECK_THAT(text, Contains("name=host\\n1"));
  const Arguments again = read_back(Command::train, text);
  CHECK(settings_of(again) == settings_of(first));
  CHECK(again.notes.empty());
  // `again` must have the same given options as `first`: --resume restores all others.
  for (const auto& [name, origin] : first.origins)
    CHECK((name == "config" || again.origins.contains(name)));
  for (const auto& [name, origin] : again.origins)
    CHECK((name == "config" || first.origins.contains(name)));
}

TEST_CASE("implied recipes and settings from a container are printed and read back") {
  const Arguments example =
      app::gather({"train", "photos"}, {{"HOME", "/home"}}, test::fake({}, {}));
  CHECK_THAT(text_of(example), Contains("\nrecipe = \"imagenet_example\"  # the defaults of"));
  CHECK(settings_of(read_back(Command::train, text_of(example))) == settings_of(example));
  Arguments container = app::gather(
      {"train"}, {{"SAGEMAKER_BASE_DIR", "/base"}, {"HOME", "/home"}},
      test::fake({"/base/input/config", "/base/input/data/train", "/base/input/data/validation"},
                 {{"/base/input/config/hyperparameters.json", "{\"lr\": \"0.5\"}"}}));
  const std::string text = text_of(container);
  INFO(text);
  CHECK_THAT(text, Contains("\ntrain = \"/base/input/data/train\"  # channel train\n"));
  CHECK_THAT(text, Contains("\nlr = 0.5  # hyperparameters.json\n"));
  container.job.resume = false;  // --resume is only printed as a comment
  CHECK(settings_of(read_back(Command::train, text)) == settings_of(container));
  // --weights implies the model, so --model is a comment: the file also works with other weights.
  const Arguments tuned = app::gather({"train", "--data", "x", "--weights", "torchvision:resnet50"},
                                      {{"HOME", "/home"}}, test::fake({}, {}));
  CHECK_THAT(text_of(tuned), Contains("\n# model = \"resnet50\"  # --weights torchvision"));
  CHECK(settings_of(read_back(Command::train, text_of(tuned))) == settings_of(tuned));
  // A data folder without --data implies a recipe, but the model comes from the weights.
  const Arguments photos = app::gather({"train", "photos", "--weights", "torchvision:resnet50"},
                                       {{"HOME", "/home"}}, test::fake({}, {}));
  Arguments again = read_back(Command::train, text_of(photos));
  CHECK(again.recipe.empty());
  again.recipe = photos.recipe;
  CHECK(settings_of(again) == settings_of(photos));
}

TEST_CASE("printed settings do not contain secrets") {
  const std::string url = "https://me:hunter2@example.com/w.pth";
  const Arguments arguments =
      app::gather({"train", "--weights", url, "--model", "resnet18"}, {}, test::fake({}, {}));
  const std::string text = text_of(arguments);
  CHECK_THAT(text, !Contains("hunter2"));
  CHECK_THAT(text, Contains("\n# weights = ") && Contains("secret: give it on the command line"));
}

TEST_CASE("the words after `config` belong to another command") {
  CHECK(app::gather({"config", "eval", "--tta", "ten"}, {}, test::fake({}, {})).command ==
        Command::config);
  CHECK(app::gather({"config", "--help"}, {}, test::fake({}, {})).help == app::kCommonHelp);
}

TEST_CASE("printed settings show the positional arguments, which the file does not contain") {
  const Words words = {"eval", "my runs/a", "b", "--tta", "ten"};
  const std::string text = text_of(app::gather(words, {}, test::fake({}, {})));
  CHECK_THAT(text, Contains("`shoal eval 'my runs/a' b --config FILE`"));
}
