// shoal config: prints the settings of another command as a file for --config.
#include "app/commands/local/local_commands.h"
#include "app/launch/provenance.h"
#include "app/options/foreign/foreign_options.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "base/log.h"

namespace shoal::app {

namespace {

// Throws UserError if a command name follows the options, because `train` would take it for the
// data folder. `words`: the command and its options.
void require_first(const std::vector<std::string>& words) {
  const Command command = require_command(words[0]);
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string name = words[i - 1].starts_with("--") ? words[i - 1].substr(2) : "";
    const bool is_value = find_option(command, name) || find_foreign(name);
    if (command_named(words[i]) && !is_value)
      throw UserError("config: the command comes first, as in `shoal config " + words[i] +
                      " OPTIONS`");
  }
}

}  // namespace

int config_command(const Call& call) {
  std::vector<std::string> words(call.words.begin() + 1, call.words.end());
  if (words.empty() || words[0].starts_with('-')) words.insert(words.begin(), "train");
  require_first(words);
  const Arguments arguments = gather(words, call.environment);
  if (arguments.command == Command::config)
    throw UserError("`shoal config config`: name a command that has settings, such as train");
  if (!arguments.help.empty()) {
    log::line(command_help(arguments.command, arguments.help));
    return kOk;
  }
  for (const std::string& note : arguments.notes) log::warning(note);
  for (const std::string& line : arguments.ineffective) log::warning(line);
  std::string text = provenance_of(arguments, call.environment).config;
  text.pop_back();  // line() adds the last line break
  log::line(text);
  return kOk;
}

}  // namespace shoal::app
