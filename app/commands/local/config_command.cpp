// shoal config: prints the settings of another command as a file for --config.
#include "app/commands/local/local_commands.h"
#include "app/launch/provenance.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "base/log.h"

namespace shoal::app {

int config_command(const Call& call) {
  std::vector<std::string> words(call.words.begin() + 1, call.words.end());
  if (words.empty() || !command_named(words[0])) words.insert(words.begin(), "train");
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
