#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "app/options/options.h"

using namespace shoal;
using app::Command;
using Catch::Contains;

TEST_CASE("help of a command lists exactly its options, each once with its default") {
  for (const app::CommandRow& command_row : app::commands()) {
    const Command command = command_row.command;
    const std::string text = app::command_help(command, "all");
    for (const app::Option& option : app::options()) {
      // Options of different commands may have the same name and different meanings.
      const app::Option* const row = app::find_option(command, option.name);
      const bool mine = row != nullptr && row->kind == option.kind && row->letter == option.letter;
      const bool flag = option.kind == app::Kind::flag;
      const std::string letter = option.letter ? std::string("-") + option.letter + ", " : "";
      const std::string name = letter + (flag ? "--[no-]" : "--") + option.name;
      INFO(app::command_name(command) << " " << name);
      const bool shown = text.find("\n  " + name + " ") != text.npos ||
                         text.find("\n  " + name + "\n") != text.npos;
      CHECK(shown == mine);
    }
    CHECK_THAT(text, Contains("Exit codes") && Contains("143"));
  }
}

TEST_CASE("help without a word prints the common options and how to list all") {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  for (const app::CommandRow& row : app::commands()) {
    INFO(row.name);
    const std::string text = app::command_help(row.command, app::kCommonHelp);
    CHECK(lines(text) <= 40);
    const bool whole = text == app::command_help(row.command, "all");
    CHECK(whole != (text.find("`shoal " + row.name + " --help all`") != text.npos));
    CHECK(text.find("\n  -h, --help ") != text.npos);
  }
  const std::string train = app::command_help(Command::train, app::kCommonHelp);
  CHECK(lines(train) >= 24);
  for (const char* common : {"data", "model", "epochs", "batch-size", "lr", "amp", "resume"})
    CHECK_THAT(train, Contains("\n  --" + std::string(common) + " "));
  CHECK_THAT(train, !Contains("--random-erase-ratio") && !Contains("Exit codes"));
  const std::string all = app::command_help(Command::train, "all");
  CHECK(lines(all) > 200);
  CHECK_THAT(all, Contains("--no-NAME"));
}

TEST_CASE("help prints the defaults of the command, which mention only its own options") {
  const auto default_in = [](Command command, const char* name) {
    return app::default_of(*app::find_option(command, name), app::Arguments(), command);
  };
  CHECK(default_in(Command::train, "batch-size") == "32, or computed from --global-batch-size");
  CHECK(default_in(Command::eval, "batch-size") == "32");
  CHECK(default_in(Command::models, "classes") == "1000");
  CHECK(default_in(Command::prepare, "val") == "DOWNLOADS/ILSVRC2012_img_val.tar");
  CHECK_THAT(default_in(Command::bench, "size"), Contains("`bench loader`: 224"));
  CHECK(default_in(Command::train, "size") == "the model's");
  // The defaults in the code are those in the help texts.
  CHECK(data::LoaderOptions().batch_size == 32);
  CHECK(data::TransformOptions().size == 224);
  CHECK(data::TransformOptions().eval_size == 224);
  CHECK(data::TransformOptions().interpolation == data::Interpolation::bilinear);
  CHECK(train::kDefaultBatchSize == 32);
  const std::regex mentioned("--([a-z][a-z-]*)");
  for (const app::CommandRow& row : app::commands()) {
    for (const app::Option& option : app::options()) {
      if (!option.is_for(row.command)) continue;
      const std::string text = app::default_of(option, app::Arguments(), row.command);
      INFO(row.name << " --" << option.name << ": " << text);
      for (std::sregex_iterator at(text.begin(), text.end(), mentioned), end; at != end; ++at)
        CHECK(app::find_option(row.command, (*at)[1].str()) != nullptr);
      for (const app::CommandRow& other : app::commands())
        CHECK_THAT(text, !Contains(other.name + ": "));
    }
    if (row.command == Command::train) continue;
    INFO(row.name);
    CHECK_THAT(app::command_help(row.command, "all"), !Contains("--resume"));
  }
}

TEST_CASE("help with a word lists options that contain it in name, text, group or default") {
  const auto help = [](const std::string& word) { return app::command_help(Command::train, word); };
  const std::string warm = help("WARMUP");
  CHECK_THAT(warm, Contains("\nLearning rate\n") && Contains("--warmup-epochs N") &&
                       Contains("--warmup-start FRACTION") && !Contains("--decay-rate"));
  CHECK_THAT(help("--warmup_epochs"), Contains("--warmup-epochs N"));
  CHECK_THAT(help("learning rate"), Contains("--decay-rate X"));    // matches its group
  CHECK_THAT(help("bicubic"), Contains("--interpolation"));         // matches a choice
  CHECK_THAT(help("stochastic depth"), Contains("--drop-path P"));  // matches the text
  CHECK_THAT(help("resnet50"), Contains("\nRecipes") && Contains("76.1 %"));
  CHECK_THAT(help("sigterm"), Contains("\nExit codes\n") && Contains("143"));
  CHECK_THAT(help("zebra"), Contains("zebra") && Contains("--help all"));
  CHECK_THAT(help("num-workers"), Contains("did you mean --workers?"));
}

TEST_CASE("--help takes an optional word") {
  const auto topic = [](const std::vector<std::string>& words) {
    return app::parse(Command::train, words).help;
  };
  CHECK(topic({}).empty());
  CHECK(topic({"--help"}) == app::kCommonHelp);
  CHECK(topic({"-h"}) == app::kCommonHelp);
  CHECK(topic({"--help", "--lr", "1"}) == app::kCommonHelp);
  CHECK(topic({"--help", "all"}) == "all");
  CHECK(topic({"-h", "mixup"}) == "mixup");
  CHECK(topic({"--help=mixup"}) == "mixup");
}

TEST_CASE("help prints the defaults of the structs and fits a terminal") {
  const std::string text = app::command_help(Command::train, "all");
  const std::string common = app::command_help(Command::train, app::kCommonHelp);
  CHECK_THAT(text, Contains("--epochs N") && Contains("[default: 90]") &&
                       Contains("[default: efficientnet_b0]"));
  std::istringstream lines(text + common);
  for (std::string line; std::getline(lines, line);) {
    size_t columns = 0;
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    INFO(line);
    CHECK(columns <= 100);
  }
}
