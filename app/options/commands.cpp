#include "app/options/commands.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal::app {

namespace {

// Returns the command's word on the command line: its enumerator without a '_' at the end.
std::string word_of(std::string name) {
  if (name.ends_with('_')) name.pop_back();
  return name;
}

}  // namespace

const std::vector<CommandRow>& commands() {
  static const std::vector<CommandRow> table = {
#define COMMAND(name, constant, paths, run_in_shoal, run_in_worker, usage, summary) \
  {Command::name, word_of(#name), usage, summary, paths},
#include "app/options/commands.def"
  };
  return table;
}

const CommandRow& row_of(Command command) {
  return *std::find_if(commands().begin(), commands().end(),
                       [&](const CommandRow& row) { return row.command == command; });
}

std::string command_name(Command command) {
  return row_of(command).name;
}

std::optional<Command> command_named(std::string_view name) {
  for (const CommandRow& row : commands()) {
    if (row.name == name) return row.command;
  }
  return std::nullopt;
}

Command require_command(std::string_view name) {
  if (const auto command = command_named(name)) return *command;
  if (name.starts_with('-'))
    throw UserError("'" + std::string(name) +
                    "' is not a command; a command comes first, as in `shoal train " +
                    std::string(name) + "`. See `shoal help`");
  std::vector<std::string> names;
  for (const CommandRow& row : commands()) names.push_back(row.name);
  const std::string near = nearest(name, names);
  throw UserError("unknown command '" + std::string(name) + "'" +
                  (near.empty() ? "; see " : "; did you mean " + near + "? See ") + "`shoal help`");
}

}  // namespace shoal::app
