// Sets every option of `train` in every encoding that SDKs, toolkits and YAML use for its value.
#include "app/options/settings/encodings.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "app/options/settings/hyperparameters.h"
#include "tests/app/options/parsed.h"
#include "tests/app/platform/fake_files.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using app::Kind;
using app::Option;
using Catch::Contains;
using Json = nlohmann::json;
using test::parsed;

namespace {

std::vector<const Option*> options_of_train() {
  std::vector<const Option*> list;
  for (const Option& option : app::options()) {
    if (app::find_option(Command::train, option.name) == &option) list.push_back(&option);
  }
  return list;
}

bool accepts(const Option& option, const std::string& text) {
  Arguments probe;
  try {
    app::apply(probe, option.name, text, "a test");
  } catch (const UserError&) {
    return false;
  }
  return true;
}

// Returns a value that is not the default: text if the option accepts it, otherwise an integer,
// otherwise a fraction.
std::string sample_of(const Option& option) {
  const std::string usual = option.get(Arguments());
  if (option.name == "recipe") return "resnet50";
  if (option.name == "classes" || option.name == "nproc") return "7";
  if (option.name == "color-jitter") return "0.25";  // stored as the given text
  if (!option.choices.empty())
    return option.choices.back() != usual ? option.choices.back() : option.choices.front();
  if (option.kind == Kind::flag) return usual == "true" ? "false" : "true";
  for (const char* text : {"some/where", "trivial", "7", "0.25", "64", "2", "0.75"}) {
    if (accepts(option, text) && usual != text) return text;
  }
  return "";
}

// Returns `text` as JSON: without quotes if it is a number or the value of a flag.
std::string literal(const Option& option, const std::string& text) {
  const bool number = text.find_first_not_of("0123456789.") == text.npos;
  return number || option.kind == Kind::flag ? text : Json(text).dump();
}

struct Encoded {
  const char* name;
  std::string json;  // as in hyperparameters.json or SM_HPS
};

std::vector<Encoded> encodings(const Option& option, const std::string& value) {
  const std::string typed = literal(option, value);
  std::vector<Encoded> list = {
      {"boto3, SDK v3: the text", Json(value).dump()},
      {"SDK v2: JSON in a text", Json(typed).dump()},
      {"SDK v2 given a text: a quoted text", Json(Json(value).dump()).dump()},
      {"encoded twice", Json(Json(Json(value).dump()).dump()).dump()},
      {"SM_HPS: typed", typed}};
  if (option.kind == Kind::flag) {
    const std::string python = value == "true" ? "True" : "False";
    list.push_back({"Python's str()", Json(python).dump()});
    list.push_back({"Python's str() in JSON", Json(Json(python).dump()).dump()});
  }
  if (value == "7") {
    list.push_back({"a float", "7.0"});
    list.push_back({"a float's text", "\"7.0\""});
    list.push_back({"a quoted float", Json("\"7.0\"").dump()});
    list.push_back({"with an exponent", "\"0.7e1\""});
  }
  return list;
}

Arguments from_file(const std::string& name, const std::string& json) {
  const auto all = app::hyperparameters({{"SAGEMAKER_BASE_DIR", "/base"}},
                                        test::fake({}, {{"/base/input/config/hyperparameters.json",
                                                         "{\"" + name + "\": " + json + "}"}}));
  return parsed({}, all.known);
}

Arguments from_variable(const std::string& name, const std::string& json) {
  const auto all =
      app::hyperparameters({{"SM_HPS", "{\"" + name + "\": " + json + "}"}}, test::fake({}, {}));
  return parsed({}, all.known);
}

// Calls `check` for each way to pass the JSON value, with a function that parses it in this way.
template <class Check>
void each_way(const std::string& name, const std::string& json, Check check) {
  INFO("--" << name << " " << json);
  check([&] { return from_file(name, json); });
  check([&] { return from_variable(name, json); });
  const Json value = Json::parse(json);
  const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
  check([&] { return parsed({"--" + name + "=" + word}); });
  check([&] { return parsed({"--" + name, word}); });
}

// Option → its value after `false` has switched it off.
const std::map<std::string, std::string> kOff = {{"amp", "off"},
                                                 {"auto-augment", "none"},
                                                 {"bce-threshold", ""},
                                                 {"cache", "0"},
                                                 {"checkpoint-minutes", "0"},
                                                 {"checkpoint-steps", ""},
                                                 {"clip", "0"},
                                                 {"color-jitter", "0"},
                                                 {"cutmix", "0"},
                                                 {"drop-path", "0"},
                                                 {"dropout", "0"},
                                                 {"ema", ""},
                                                 {"export-dir", ""},
                                                 {"freeze", "none"},
                                                 {"gaussian-blur", "0"},
                                                 {"gradient-compression", "off"},
                                                 {"grayscale", "0"},
                                                 {"health-check", "off"},
                                                 {"hflip", "0"},
                                                 {"label-smoothing", "0"},
                                                 {"max-steps", ""},
                                                 {"mixup", "0"},
                                                 {"momentum", "0"},
                                                 {"multi-scale", "none"},
                                                 {"random-erase", "0"},
                                                 {"recipe", "none"},
                                                 {"repeated-augmentation", "1"},
                                                 {"resume", ""},
                                                 {"scale-lr", ""},
                                                 {"sharded", "none"},
                                                 {"shuffle-buffer", "0"},
                                                 {"size-schedule", "none"},
                                                 {"solarize", "0"},
                                                 {"stall-warning", "0"},
                                                 {"lost-host-timeout", "0"},
                                                 {"strength-schedule", "none"},
                                                 {"tensorboard", "none"},
                                                 {"histograms", "none"},
                                                 {"unfreeze-epoch", "0"},
                                                 {"balance", "0"},
                                                 {"class-weights", "none"},
                                                 {"eval-every", "0"},
                                                 {"fraction", "1"},
                                                 {"patience", "0"},
                                                 {"per-class", "0"},
                                                 {"time-budget", "0"},
                                                 {"val-split", "0"},
                                                 {"vflip", "0"},
                                                 {"warmup-epochs", "0"},
                                                 {"weight-decay", "0"}};

}  // namespace

TEST_CASE("every option of train accepts its value in every encoding", "[slow][single]") {
  for (const Option* option : options_of_train()) {
    const std::string value = sample_of(*option);
    REQUIRE_FALSE(value.empty());
    Arguments expected;
    option->set(expected, value);
    for (const Encoded& encoded : encodings(*option, value)) {
      INFO(encoded.name);
      each_way(option->name, encoded.json,
               [&](const auto& given) { CHECK(option->get(given()) == option->get(expected)); });
    }
  }
}

TEST_CASE("false switches off options that can be off, and is an error for all others",
          "[single]") {
  size_t switched_off = 0;
  for (const Option* option : options_of_train()) {
    if (option->kind == Kind::flag || option->name == "help") continue;
    const auto off = kOff.find(option->name);
    switched_off += off != kOff.end();
    for (const char* json : {"false", "\"false\"", "\"False\"", "\"\\\"False\\\"\""}) {
      each_way(option->name, json, [&](const auto& given) {
        if (off == kOff.end()) {
          CHECK_THROWS_WITH(given(),
                            Contains("--" + option->name + " is '") && Contains("it must be "));
        } else {
          CHECK(option->get(given()) == off->second);
        }
      });
    }
    if (off == kOff.end()) continue;
    // Switching off overrides a value from another source.
    const std::vector<app::Setting> set = {{option->name, sample_of(*option), "SM_HPS"}};
    CHECK(option->get(parsed({"--no-" + option->name}, set)) == off->second);
    CHECK(option->get(parsed({"--" + option->name, "off"}, set)) == off->second);
  }
  CHECK(switched_off == kOff.size());
}

TEST_CASE("true turns on options that need no value, and is an error for all others", "[single]") {
  for (const Option* option : options_of_train()) {
    if (option->kind == Kind::flag) continue;
    for (const char* json : {"true", "\"true\"", "\"True\"", "\"\\\"True\\\"\""}) {
      each_way(option->name, json, [&](const auto& given) {
        if (option->kind == Kind::optional_value)
          CHECK(option->get(given()) == option->bare);
        else
          CHECK_THROWS_WITH(given(), Contains("--" + option->name + " is '"));
      });
    }
  }
  CHECK(parsed({}, {{"amp", "true", "SM_HPS"}}).job.amp == train::Precision::bf16);
  CHECK(parsed({"--amp", "True"}).job.amp == train::Precision::bf16);
  CHECK(parsed({"--amp=false"}).job.amp == train::Precision::off);
}

TEST_CASE("null keeps the default or the value from another source", "[single]") {
  const Arguments defaults;
  for (const Option* option : options_of_train()) {
    for (const char* json : {"null", "\"null\"", "\"None\"", "\"\\\"None\\\"\""}) {
      each_way(option->name, json, [&](const auto& given) {
        const Arguments arguments = given();
        CHECK(option->get(arguments) == option->get(defaults));
        CHECK_FALSE(arguments.origins.contains(option->name));
        CHECK(arguments.paths.empty());
      });
    }
  }
  CHECK(parsed({"--lr", "None"}, {{"lr", "0.3", "SM_HPS"}}).job.schedule.lr == 0.3);
  // A recipe's evaluation size applies only with its training size.
  CHECK(parsed({"--recipe", "resnet50_v2"}, {{"size", "null", "SM_HPS"}}).job.val_size == 224);
}

TEST_CASE("lists and objects are converted to the option's list syntax, also from JSON text") {
  struct Row {
    const char *name, *json, *expected;
  };
  const Row kRows[] = {
      {"color-jitter", "[0.4, 0.4, 0.2]", "0.4,0.4,0.2"},
      {"multi-scale", "[160, 288]", "160-288"},
      {"size-schedule", "[\"65:160\", \"76:192\"]", "65:160,76:192"},
      {"size-schedule", "[[65, 160], [76, 192]]", "65:160,76:192"},
      {"size-schedule", R"({"65": 160, "192": 192})", "65:160,192:192"},
      {"strength-schedule", R"({"0": 0.3, "100%": 1})", "0:0.3,100%:1"},
      {"tfrecord-keys", R"({"image": "data", "label": "labels"})", "image=data,label=labels"},
      {"instance-group", R"(["a", "b"])", "a,b"}};
  for (const Row& row : kRows) {
    for (const std::string& json : {std::string(row.json), Json(row.json).dump()}) {
      each_way(row.name, json, [&](const auto& given) {
        CHECK(app::find_option(Command::train, row.name)->get(given()) == row.expected);
      });
    }
  }
  for (const Option* option : options_of_train()) {
    if (!option->list.empty() || option->kind == Kind::flag || option->name == "amp") continue;
    each_way(option->name, "[\"a\"]", [&](const auto& given) {
      CHECK_THROWS_WITH(given(), Contains("--" + option->name + " is '[\"a\"]'") &&
                                     Contains("it must be one value, not a list"));
    });
  }
  CHECK_THROWS_WITH(parsed({R"(--color-jitter={"a": 1})"}), Contains("it must be a list"));
  // The braces of a file pattern are kept as text.
  CHECK(parsed({"--train", "{000..127}.tar"}).job.train_dir == "{000..127}.tar");
  // timm's --scale takes a pair of numbers.
  CHECK(parsed({}, {{"scale", "[0.2, 0.9]", "SM_HPS"}}).job.crop_scale_max == 0.9);
}

TEST_CASE("options that need an integer reject fractions") {
  for (const char* text : {"64.5", "1e400", "6 4"})
    CHECK_THROWS_WITH(parsed({std::string("--size=") + text}), Contains("a whole number"));
  for (const char* text : {"nan", "inf", "9e18"})
    CHECK_THROWS_WITH(parsed({std::string("--size=") + text}), Contains("a number from 32"));
  CHECK_THROWS_WITH(parsed({"--seed=-1.0"}), Contains("0 or more"));
  CHECK(parsed({"--cache", "17179869184.0"}).job.cache_bytes == int64_t{16} << 30);
  CHECK(parsed({"--workers", "3.0"}).job.workers == 3);
}
