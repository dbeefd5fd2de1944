#include "app/options/manual/completion.h"
#include "base/text.h"

namespace shoal::app {
namespace {

std::string quoted_for_fish(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') result += '\\';
    result += c;
  }
  return result + "'";
}

// The beginning of the script. Several words of a line may equal a command, as in
// `shoal help train`, so the function compares only the first one.
constexpr const char* kFishBegin =
    R"(# Completes the command line of shoal in fish. Made by `shoal completion fish`.
# Whether the command is $argv[1]; if that is empty, whether the command is still being typed.
function __shoal_command
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"
end
# The same, unless an option is being typed: after --name=, fish would also offer positional words.
function __shoal_word
    __shoal_command $argv; and not string match -q -- '-*' (commandline -ct)
end
complete -c shoal -f
complete -c shoal -n '__shoal_command ""' -l help
complete -c shoal -n '__shoal_command ""' -l version
)";

// Returns fish's flags for completing the values: -F offers files, -f does not, -a offers words.
std::string flags_of(const Values& values) {
  std::string words = joined(values.words, " ");
  std::string flags;
  if (values.paths == Values::Paths::files) flags = " -F";
  if (values.paths == Values::Paths::folders)
    flags = " -f",
    words += (words.empty() ? "" : " ") + std::string("(__fish_complete_directories)");
  if (values.paths == Values::Paths::none) flags = " -f";
  return flags + (words.empty() ? "" : " -a " + quoted_for_fish(words));
}

}  // namespace

std::string fish_completion() {
  std::string text = kFishBegin, names;
  for (const CommandRow& row : commands()) {
    names += row.name + " ";
    text += "complete -c shoal -n '__shoal_command \"\"' -a " + row.name + " -d " +
            quoted_for_fish(row.summary) + "\n";
  }
  text += "complete -c shoal -n '__shoal_command \"\"' -a help\n" +
          ("complete -c shoal -n '__shoal_command help' -a '" + names + "'\n");
  for (const CommandRow& row : commands()) {
    const std::string begin = "complete -c shoal -n '__shoal_command " + row.name + "'";
    for (const Option* option : completed_options(row.command)) {
      text += begin + " -l " + option->name;
      if (option->letter) text += std::string(" -s ") + option->letter;
      if (option->kind == Kind::value) text += " -r";
      if (option->kind != Kind::flag) text += flags_of(values_of_option(*option));
      text += " -d " + quoted_for_fish(option->help) + "\n";
      if (option->can_be_off()) text += begin + " -l no-" + option->name + "\n";
    }
    const Values words = values_of_words(row);
    if (!words.words.empty() || words.paths != Values::Paths::none)
      text += "complete -c shoal -n '__shoal_word " + row.name + "'" + flags_of(words) + "\n";
  }
  return text;
}

}  // namespace shoal::app
