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
  std::string text =
      "# Completes the command line of shoal in fish. Made by `shoal completion fish`.\n"
      "complete -c shoal -f\n";
  for (const CommandRow& row : commands())
    text += "complete -c shoal -n __fish_use_subcommand -a " + row.name + " -d " +
            quoted_for_fish(row.summary) + "\n";
  for (const CommandRow& row : commands()) {
    const std::string begin = "complete -c shoal -n '__fish_seen_subcommand_from " + row.name + "'";
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
      text += begin + flags_of(words) + "\n";
  }
  return text;
}

}  // namespace shoal::app
