#include "app/options/settings/hyperparameters.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "app/options/settings/encodings.h"
#include "tests/app/platform/fake_files.h"

using namespace shoal;
using app::Hyperparameters;
using app::Setting;
using Catch::Contains;

namespace {

Hyperparameters gathered(const std::string& json, dist::Variables environment = {}) {
  environment["SAGEMAKER_BASE_DIR"] = "/base";
  return app::hyperparameters(environment,
                              test::fake({}, {{"/base/input/config/hyperparameters.json", json}}));
}

std::string last_of(const Hyperparameters& all, const std::string& name) {
  std::string value = "(none)";
  for (const Setting& setting : all.known) {
    if (setting.name == name) value = setting.value + " from " + setting.origin;
  }
  return value;
}

}  // namespace

TEST_CASE("the encoding that SDKs add to values is removed") {
  CHECK(app::decoded("\"sgd\"") == "sgd");
  CHECK(app::decoded("sgd") == "sgd");
  CHECK(app::decoded("0.1") == "0.1");
  CHECK(app::decoded("true") == "true");
  CHECK(app::decoded("True") == "True");
  CHECK(app::decoded("") == "");
  CHECK(app::decoded("\"\"") == "");
  CHECK(app::decoded("\"open") == "\"open");
  CHECK(app::decoded("\"a \\\"b\\\"\"") == "a \"b\"");
  CHECK_FALSE(app::decoded("null").has_value());
  CHECK_FALSE(app::decoded("None").has_value());
}

TEST_CASE("hyperparameters.json overrides SM_HPS, which overrides SM_HP_* variables") {
  const Hyperparameters all =
      gathered(R"({"lr": "0.3", "optimizer": "\"sgd\"", "use_amp": ""})",
               {{"SM_HP_LR", "0.1"},
                {"SM_HP_BATCH-SIZE", "8"},
                {"SM_HP_KEEP", "5"},
                {"SM_HPS", R"({"lr": 0.2, "batch_size": 16, "sync-bn": true, "seed": null})"}});
  CHECK(last_of(all, "lr") == "0.3 from hyperparameters.json");
  CHECK(last_of(all, "optimizer") == "sgd from hyperparameters.json");
  CHECK(last_of(all, "use_amp") == " from hyperparameters.json");
  CHECK(last_of(all, "batch_size") == "16 from SM_HPS");
  CHECK(last_of(all, "sync-bn") == "true from SM_HPS");
  CHECK(last_of(all, "keep") == "5 from SM_HP_KEEP");
  CHECK(last_of(all, "seed") == "(none)");
  CHECK(all.unknown.empty());
}

TEST_CASE("values that are not strings in the file are used as written") {
  const Hyperparameters all = gathered(R"({"epochs": 5, "weight-decay": 5e-6, "nesterov": true})");
  CHECK(last_of(all, "epochs") == "5 from hyperparameters.json");
  CHECK(last_of(all, "weight-decay") == "5e-06 from hyperparameters.json");
  CHECK(last_of(all, "nesterov") == "true from hyperparameters.json");
}

TEST_CASE("unknown names are listed in one sentence with the nearest option") {
  const Hyperparameters all = gathered(
      R"({"epoch": "3", "zzzzzz": "1", "sagemaker_program": "\"a.py\"", "model_dir": "s3://b/c",
          "_tuning_objective_metric": "acc", "SSM_SHELL_CMD_LINE": "x", "lr": "0.1"})");
  CHECK(all.unknown == std::vector<std::string>{"epoch", "zzzzzz"});
  CHECK(all.known.size() == 1);
  const std::string text = app::unknown_hyperparameters(all, true);
  CHECK_THAT(text, Contains("epoch (did you mean epochs?), zzzzzz"));
  CHECK_THAT(text, Contains("SSM_SHELL_CMD_LINE, _tuning_objective_metric, model_dir, "
                            "sagemaker_program"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 0);
  CHECK_THAT(app::unknown_hyperparameters(all, false), !Contains("sagemaker"));
  CHECK(app::unknown_hyperparameters(gathered(R"({"lr": "1"})"), true).empty());
}

TEST_CASE("an error names the file or variable that is not a JSON object") {
  CHECK_THROWS_AS(gathered("{\"lr\": "), UserError);
  CHECK_THROWS_WITH(gathered("{\"lr\": "), Contains("/base/input/config/hyperparameters.json") &&
                                               Contains("ends too early"));
  CHECK_THROWS_WITH(gathered("{\"lr\": x}"), Contains("/base/input/config/hyperparameters.json") &&
                                                 Contains("damaged at byte"));
  CHECK_THROWS_AS(gathered("{\"lr\": 1e999}"), UserError);
  CHECK_THROWS_WITH(gathered("{\"lr\": 1e999}"),
                    Contains("hyperparameters.json") && Contains("too large"));
  CHECK_THROWS_WITH(gathered("[1]"), Contains("hyperparameters.json") && Contains("array"));
  CHECK_THROWS_WITH(gathered("{}", {{"SM_HPS", "{broken"}}),
                    Contains("SM_HPS must be a JSON object"));
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK_THROWS_WITH(gathered("{\"lr\": " + deep + "}"),
                    Contains("hyperparameters.json") && Contains("levels"));
}

TEST_CASE("two values for one option in the same source are an error") {
  CHECK_THROWS_WITH(gathered(R"({"lr": "0.1", "seed": "1", "lr": "0.2"})"),
                    Contains("hyperparameters.json contains lr twice"));
  CHECK_THROWS_WITH(
      gathered(R"({"batch-size": "8", "batch_size": "16"})"),
      (Contains("hyperparameters.json") && Contains("twice") && Contains("batch_size 16")));
  CHECK(last_of(gathered(R"({"batch-size": "8", "batch_size": "8"})"), "batch_size") ==
        "8 from hyperparameters.json");
  CHECK_THROWS_WITH(gathered("{}", {{"SM_HP_BATCH_SIZE", "8"}, {"SM_HP_BATCH-SIZE", "16"}}),
                    Contains("--batch-size twice"));
  CHECK(last_of(gathered(R"({"lr": "0.1"})", {{"SM_HPS", R"({"learning-rate": 0.2})"}}), "lr") ==
        "0.1 from hyperparameters.json");
}

TEST_CASE("an option without a value is reported") {
  const Hyperparameters all = gathered(R"({"lr": null, "seed": "None", "epochs": "2"})");
  CHECK(all.empty == std::vector<std::string>{"lr", "seed"});
  CHECK(app::unknown_hyperparameters(all, true) ==
        "hyperparameters without a value (ignored): lr, seed");
}

TEST_CASE("without hyperparameters, no option is set") {
  const Hyperparameters none = app::hyperparameters({}, test::fake({}, {}));
  CHECK(none.known.empty());
  CHECK(app::unknown_hyperparameters(none, true).empty());
}
