#include "app/options/options.h"

#include <catch2/catch.hpp>
#include <set>

#include "app/options/option_row.h"
#include "base/nearest.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using app::Kind;
using app::Option;
using Catch::Contains;

namespace {

std::vector<Command> commands_of(const Option& option) {
  std::vector<Command> list;
  for (const app::CommandRow& row : app::commands()) {
    if (option.commands & static_cast<unsigned>(row.command)) list.push_back(row.command);
  }
  return list;
}

// Returns a value that the option accepts and that is not its default.
std::string sample(const Option& option) {
  const std::string usual = option.get(Arguments());
  if (!option.choices.empty())
    return option.choices.back() != usual ? option.choices.back() : option.choices.front();
  if (option.kind == Kind::flag) return usual == "true" ? "false" : "true";
  for (const char* text : {"7", "0.25", "0.75", "64", "2", "some/where", "trivial"}) {
    Arguments probe;
    probe.command = commands_of(option).front();
    try {
      app::apply(probe, option.name, text, "a test");
      if (option.get(probe) != usual) return text;
    } catch (const UserError&) {
    }
  }
  return "";
}

}  // namespace

TEST_CASE("byte counts are parsed with their units") {
  CHECK(app::parse_bytes("0") == 0);
  CHECK(app::parse_bytes("1500") == 1500);
  CHECK(app::parse_bytes("3k") == 3 * 1024);
  CHECK(app::parse_bytes("500MB") == int64_t{500} << 20);
  CHECK(app::parse_bytes("16G") == int64_t{16} << 30);
  for (const char* bad : {"", "G", "1.5G", "-1", "1X", "9999999T", "1 G"})
    CHECK_THROWS_AS(app::parse_bytes(bad), std::invalid_argument);
}

TEST_CASE("every option of a command has one name, a group and a help text") {
  std::set<std::pair<std::string, Command>> names;
  for (const Option& option : app::options()) {
    INFO(option.name);
    for (const Command command : commands_of(option))
      CHECK(names.insert({option.name, command}).second);
    CHECK_FALSE(option.group.empty());
    CHECK(option.help.size() >= 10);
    CHECK(option.help.back() != '.');
    CHECK_FALSE(commands_of(option).empty());
    CHECK(option.name.find('_') == option.name.npos);
    CHECK((option.kind == Kind::flag || !option.placeholder.empty() || !option.choices.empty()));
  }
}

TEST_CASE("every option accepts a value and returns it") {
  for (const Option& option : app::options()) {
    INFO(option.name);
    const std::string value = sample(option);
    REQUIRE_FALSE(value.empty());
    for (const Command command : commands_of(option)) {
      Arguments arguments;
      arguments.command = command;
      app::apply(arguments, option.name, value, "a test");
      CHECK(option.get(arguments) == value);
      CHECK(arguments.origins.at(option.name) == "a test");
      // Parsing the printed value must not change it.
      Arguments again;
      option.set(again, option.get(arguments));
      CHECK(option.get(again) == value);
    }
  }
}

TEST_CASE("defaults are in their ranges") {
  for (const Option& option : app::options()) {
    const std::string value = option.get(Arguments());
    if (!option.range || value.empty()) continue;
    INFO(option.name << " " << value);
    Arguments arguments;
    arguments.command = commands_of(option).front();
    CHECK_NOTHROW(app::apply(arguments, option.name, value, "a test"));
  }
}

TEST_CASE("setting one option leaves all others at their defaults") {
  const Arguments defaults;
  for (const Option& option : app::options()) {
    Arguments changed;
    option.set(changed, sample(option));
    for (const Option& other : app::options()) {
      INFO(option.name << " and " << other.name);
      if (other.name != option.name) CHECK(other.get(changed) == other.get(defaults));
    }
  }
}

TEST_CASE("options without a fixed default describe what applies if they are not set") {
  for (const Option& option : app::options()) {
    if (option.name == "data" || option.name == "train" || option.name == "val" ||
        option.name == "checkpoint")
      continue;
    INFO(option.name);
    CHECK((!option.get(Arguments()).empty() || !option.unset.empty()));
  }
}

TEST_CASE("the documented option names exist") {
  for (const char* name : {"data",
                           "train",
                           "val",
                           "model",
                           "classes",
                           "size",
                           "val-size",
                           "epochs",
                           "max-steps",
                           "batch-size",
                           "global-batch-size",
                           "accumulate",
                           "optimizer",
                           "lr",
                           "scale-lr",
                           "momentum",
                           "weight-decay",
                           "schedule",
                           "warmup-epochs",
                           "label-smoothing",
                           "mixup",
                           "cutmix",
                           "drop-path",
                           "dropout",
                           "ema",
                           "clip",
                           "amp",
                           "sync-bn",
                           "workers",
                           "seed",
                           "device",
                           "backend",
                           "nproc",
                           "rendezvous-timeout",
                           "instance-group",
                           "output",
                           "checkpoint-dir",
                           "checkpoint-steps",
                           "checkpoint-minutes",
                           "keep",
                           "resume",
                           "recipe",
                           "print-freq",
                           "eval-only",
                           "log-level"}) {
    INFO(name);
    CHECK(app::find_option(Command::train, name) != nullptr);
  }
}

TEST_CASE(
    "errors for invalid values name the option, the value, its source and the allowed values") {
  const auto message = [](const char* name, const char* value) -> std::string {
    Arguments arguments;
    try {
      app::apply(arguments, name, value, "hyperparameter");
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK_THAT(message("lr", "fast"), Contains("--lr") && Contains("'fast'") &&
                                        Contains("hyperparameter") && Contains("a number"));
  CHECK_THAT(message("lr", "nan"), Contains("a number"));
  CHECK_THAT(message("lr", "0.1x"), Contains("a number"));
  CHECK_THAT(message("epochs", ""), Contains("a number"));
  CHECK_THAT(message("keep", "2.5"), Contains("a whole number"));
  for (const char* text : {"2000000000000", "99999999999999999999"})
    CHECK_THAT(message("keep", text), Contains("at most 2^40"));
  for (const char* text : {"2e12", "1e30"}) CHECK(message("clip", text) == "no error");
  CHECK_THAT(message("momentum", "1e300"), Contains("from 0 to"));
  CHECK_THAT(message("seed", "-1"), Contains("a whole number of 0 or more"));
  CHECK_THAT(message("sync-bn", "perhaps"), Contains("true or false"));
  CHECK_THAT(message("amp", "tf32"), Contains("off or bf16"));
  CHECK_THAT(message("optimizer", "SGD"), Contains("it must be sgd, "));
  CHECK_THAT(message("output", ""), Contains("not empty"));
  CHECK_THAT(message("beta1", "1"), Contains("--beta1") && Contains("from 0 to below 1"));
  CHECK_THAT(message("label-smoothing", "1.5"), Contains("from 0 to below 1"));
  CHECK_THAT(message("val-split", "0.91"), Contains("from 0 to 0.9"));
  CHECK_THAT(message("random-erase-count", "5"), Contains("from 1 to 4"));
  CHECK_THAT(message("lr", "0"), Contains("above 0"));
  CHECK_THAT(message("clip", "-1"), Contains("0 or more"));
  CHECK_THAT(message("decay-rate", "0"), Contains("above 0 and at most 1"));
  CHECK(message("max-steps", "none") == "no error");
}

TEST_CASE("an unknown option names the nearest one") {
  const auto message = [](const char* name) -> std::string {
    Arguments arguments;
    try {
      app::apply(arguments, name, "1", "command line");
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK_THAT(message("epoch"), Contains("--epochs?"));
  CHECK_THAT(message("bach-size"), Contains("--batch-size?"));
  CHECK_THAT(message("learning-rate"), Contains("--lr?"));
  CHECK_THAT(message("learning_rat"), Contains("--lr?"));
  CHECK_THAT(message("warmup"), Contains("--warmup-"));
  CHECK_THAT(message("zzzzzzzzzz"), !Contains("did you mean") && Contains("--help"));
}

TEST_CASE("the nearest name is found by edit distance, not by length") {
  const std::vector<std::string> names = {"lr", "keep", "momentum", "weight-decay"};
  CHECK(nearest("kep", names) == "keep");
  CHECK(nearest("momemtum", names) == "momentum");
  CHECK(nearest("decay", names) == "weight-decay");
  CHECK(nearest("x", names).empty());
  CHECK(nearest("quantisation", names).empty());
}

TEST_CASE("among equally near names, one with all letters wins, then the closest in length") {
  for (const char* written : {"modl", "modle"})
    CHECK(nearest(written, {"mode", "model"}) == "model");
  CHECK(nearest("resnet", {"resnet101", "resnet18"}) == "resnet18");
  CHECK(app::nearest_option(Command::train, "modl") == "model");
}

TEST_CASE("hints are given only for plausible misspellings") {
  const auto hint = [](Command command, const char* name) {
    return app::nearest_option(command, name);
  };
  const std::pair<const char*, const char*> kTrain[] = {{"data-path", "data"},
                                                        {"epoch", "epochs"},
                                                        {"num_workers", "workers"},
                                                        {"num-epochs", "epochs"},
                                                        {"ouptut", "output"},
                                                        {"drop-out", "dropout"},
                                                        {"batchsize", "batch-size"},
                                                        {"optim", "optimizer"},
                                                        {"smoothing", "label-smoothing"},
                                                        {"wieght-deacy", "weight-decay"},
                                                        {"input-size", "size"},
                                                        {"no-progess", "no-progress"},
                                                        {"learning_rat", "lr"},
                                                        // No hint: similar to an option only in
                                                        // spelling, not in meaning.
                                                        {"path", ""},
                                                        {"bn-decay", ""},
                                                        {"cutout", ""},
                                                        {"test-only", ""},
                                                        {"save-freq", ""},
                                                        {"lr-noise", ""},
                                                        {"x", ""}};
  for (const auto& [written, meant] : kTrain) {
    INFO(written);
    CHECK(hint(Command::train, written) == meant);
  }
  CHECK(hint(Command::eval, "data-path") == "data");
  CHECK(hint(Command::eval, "chekpoint") == "checkpoint");
  CHECK(hint(Command::eval, "lr").empty());
  CHECK(hint(Command::predict, "checkpoint-path") == "checkpoint");
  CHECK(hint(Command::predict, "drop-path").empty());
  CHECK(hint(Command::pack, "max-size") == "max-side");
  CHECK(hint(Command::pack, "drop-path").empty());
}

TEST_CASE("an option of one command is unknown to another") {
  CHECK(app::find_option(Command::predict, "lr") == nullptr);
  CHECK(app::find_option(Command::train, "definitions") == nullptr);
  CHECK(app::find_option(Command::train, "batch_size") ==
        app::find_option(Command::train, "batch-size"));
}

TEST_CASE("options of bench name the measurements that have them") {
  const std::set<std::string> known = {"loader", "step", "scaling"};
  std::set<std::string> named;
  for (const app::Option& option : app::options()) {
    INFO(option.name);
    for (const std::string& measurement : option.measurements) {
      CHECK(option.is_for(Command::bench));
      CHECK(known.contains(measurement));
      named.insert(measurement);
    }
  }
  CHECK(named == known);
}

TEST_CASE("numbers are printed in the shortest form that reads back") {
  CHECK(app::text_of(0.1) == "0.1");
  CHECK(app::text_of(90.0) == "90");
  CHECK(app::text_of(1.0 / 32768) == "3.0517578125e-05");
}

TEST_CASE("durations are parsed with their units") {
  CHECK(app::parse_duration("0") == 0);
  CHECK(app::parse_duration("1800") == 1800);
  CHECK(app::parse_duration("2.5") == 2.5);
  CHECK(app::parse_duration("90s") == 90);
  CHECK(app::parse_duration("30m") == 1800);
  CHECK(app::parse_duration("1.5h") == 5400);
  CHECK(app::parse_duration("1d2h3m4s") == 93784);
  for (const char* bad : {"", "m", "-1", "1x", "30m10", "1m1h", "1h 30m", "inf", "nan", "1hm"})
    CHECK_THROWS_AS(app::parse_duration(bad), std::invalid_argument);
}
