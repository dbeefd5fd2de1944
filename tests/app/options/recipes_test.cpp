#include "app/options/recipes.h"

#include <catch2/catch.hpp>
#include <set>

#include "app/options/options.h"

using namespace shoal;

TEST_CASE("every recipe parses, has a description, and sets each option once") {
  std::set<std::string> names;
  for (const app::Recipe& recipe : app::recipes()) {
    INFO(recipe.name);
    CHECK(names.insert(recipe.name).second);
    CHECK_FALSE(recipe.summary.empty());
    CHECK_FALSE(recipe.source.empty());
    const app::Arguments arguments = app::parse(app::Command::train, {"--recipe", recipe.name});
    std::set<std::string> options;
    for (const auto& [option, value] : recipe.values) {
      INFO(option);
      CHECK(options.insert(option).second);
      app::Arguments expected;
      app::apply(expected, option, value, "a test");
      const app::Option* row = app::find_option(app::Command::train, option);
      REQUIRE(row != nullptr);
      CHECK(row->get(arguments) == row->get(expected));
    }
  }
  CHECK(names.count("demo") == 1);
}

TEST_CASE("a recipe's evaluation size applies only with its training size") {
  const auto parsed = [](const std::vector<std::string>& words) {
    return app::parse(app::Command::train, words).job;
  };
  CHECK(parsed({"--recipe", "efficientnet_b0"}).val_size == 224);
  CHECK_FALSE(parsed({"--recipe", "efficientnet_b0", "--size", "96"}).val_size);
  CHECK(parsed({"--recipe", "efficientnet_b0", "--size", "96", "--val-size", "64"}).val_size == 64);
}

TEST_CASE("a number for --batch-size replaces the recipe's global batch size, and auto keeps it") {
  const auto parsed = [](const std::vector<std::string>& words) {
    return app::parse(app::Command::train, words).job;
  };
  CHECK(parsed({"--recipe", "finetune"}).global_batch_size == 32);
  const train::Job given = parsed({"--recipe", "finetune", "--batch-size", "64"});
  CHECK(given.batch_size == 64);
  CHECK_FALSE(given.global_batch_size);
  CHECK(parsed({"--recipe", "finetune", "--batch-size", "auto"}).global_batch_size == 32);
}

TEST_CASE("the list of recipes can be pasted onto a command line") {
  const std::string text = app::recipe_list();
  CHECK(text.starts_with(
      "The accuracies are those that the recipes' authors published, not measured with shoal."));
  for (const app::Recipe& recipe : app::recipes()) {
    for (const auto& [option, value] : recipe.values) {
      CHECK(text.find(" --" + option + " " + value) != text.npos);
    }
  }
}
