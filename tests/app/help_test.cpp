#include <catch2/catch.hpp>
#include <sstream>

#include "app/options.h"

using namespace shoal;
using app::Command;
using Catch::Contains;

TEST_CASE("help of a command shows each of its options once, with its default, and no others") {
  for (const Command command :
       {Command::train, Command::eval, Command::predict, Command::models, Command::metrics,
        Command::doctor, Command::pack, Command::bench, Command::prepare}) {
    const std::string text = app::command_help(command);
    for (const app::Option& option : app::options()) {
      // Commands may have rows of one name that mean different things.
      const app::Option* const row = app::find_option(command, option.name);
      const bool mine = row != nullptr && row->kind == option.kind;
      const bool flag = option.kind == app::Kind::flag;
      const std::string name =
          option.name == "help" ? "-h, --help" : (flag ? "--[no-]" : "--") + option.name;
      INFO(app::command_name(command) << " " << name);
      const bool shown = text.find("\n  " + name + " ") != text.npos ||
                         text.find("\n  " + name + "\n") != text.npos;
      CHECK(shown == mine);
    }
    CHECK_THAT(text, Contains("Exit codes") && Contains("143"));
  }
}

TEST_CASE("help prints the defaults of the structs and fits a terminal") {
  const std::string text = app::command_help(Command::train);
  CHECK_THAT(text, Contains("--epochs N") && Contains("[default: 90]") &&
                       Contains("[default: efficientnet_b0]"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t columns = 0;
    for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    INFO(line);
    CHECK(columns <= 100);
  }
}
