#pragma once
// The commands, from the table in commands.def. Does not use LibTorch.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::app {

namespace command_index {
enum : unsigned {
#define COMMAND(name, ...) name,
#include "app/options/commands.def"
};
}  // namespace command_index

// One bit per command, so that Option::commands can combine several.
enum class Command : unsigned {
#define COMMAND(name, ...) name = 1u << command_index::name,
#include "app/options/commands.def"
};

// kTrain, kEval, …: the bit of each command as a number.
#define COMMAND(name, constant, ...) \
  inline constexpr unsigned constant = static_cast<unsigned>(Command::name);
#include "app/options/commands.def"

struct CommandRow {
  Command command;
  std::string name, arguments, summary;
  bool takes_paths;  // whether the command accepts positional words (commands.def)
};

// All commands, in the order of `shoal help`.
const std::vector<CommandRow>& commands();

const CommandRow& row_of(Command command);
std::string command_name(Command command);

std::optional<Command> command_named(std::string_view name);
Command require_command(std::string_view name);  // throws UserError if there is no such command

}  // namespace shoal::app
