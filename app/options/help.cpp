// The text of --help, generated from the option table.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "app/options/manual/help_entries.h"
#include "app/options/options.h"
#include "app/options/recipes.h"
#include "app/platform/failure.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr size_t kColumn = 30;  // column where the explanations start
constexpr size_t kWidth = 100;
constexpr int kScreen = 40;  // lines of a typical terminal

std::string left_side(const Option& option) {
  const std::string value =
      option.choices.empty() ? option.placeholder : joined(option.choices, "|");
  const std::string dashes = option.letter ? std::string("  -") + option.letter + ", --" : "  --";
  switch (option.kind) {
    case Kind::flag:
      return dashes + "[no-]" + option.name;
    case Kind::optional_value:
      return dashes + option.name + " [" + value + "]";
    case Kind::value:
      break;
  }
  return dashes + option.name + " " + value;
}

std::string right_side(const Option& option, const Arguments& defaults, Command command) {
  if (option.name == "help") return option.help;
  const std::string value = default_of(option, defaults, command);
  std::string text = option.help;
  if (option.range) text += ", " + option.range->formula(value_name(option));
  return text + (value.empty() ? "" : " [default: " + value + "]");
}

std::string usage(Command command) {
  const CommandRow& row = row_of(command);
  const std::string arguments = row.arguments;
  return "shoal " + row.name + (arguments.empty() ? "" : " ") + arguments + "\n" + row.summary;
}

// Returns the exit codes, for a command that continues with --resume or for one that does not.
std::vector<HelpEntry> exit_codes(bool resumes) {
  const std::string resume = resumes ? "; continue with --resume" : "";
  const std::vector<std::pair<std::string, std::string>> codes = {
      {std::to_string(kOk), "success"},
      {std::to_string(kFailure), "failure, such as I/O, memory or network" + resume},
      {std::to_string(kUsage), "user error, such as a wrong option, value or data folder"},
      {std::to_string(kSetupMissing), "a program or library must be installed first"},
      {std::to_string(kPeerLost), "lost the connection to a process that failed first" + resume},
      {std::to_string(kInterrupted) + ", " + std::to_string(kTerminated),
       std::string(resumes ? "saved and stopped" : "stopped") +
           " after SIGINT (130), or after SIGTERM or SIGHUP (143)" + resume +
           (resumes ? " (exit code on SageMaker: 0)" : "")},
      {"128+N", "signal N killed a process" + resume}};
  std::vector<HelpEntry> entries;
  for (const auto& [code, meaning] : codes) entries.push_back({"Exit codes", "  " + code, meaning});
  return entries;
}

}  // namespace

std::vector<HelpEntry> help_entries(Command command) {
  const Arguments defaults;
  std::vector<HelpEntry> entries;
  for (const Option& option : options()) {
    if (option.is_for(command))
      entries.push_back({option.group, left_side(option), right_side(option, defaults, command),
                         (option.commands & kCommon) != 0});
  }
  if (command == Command::train) {
    for (const Recipe& recipe : recipes())
      entries.push_back(
          {"Recipes (other options override their values)", "  " + recipe.name, recipe.summary});
  }
  for (HelpEntry& code : exit_codes(command == Command::train)) entries.push_back(std::move(code));
  return entries;
}

namespace {

std::string lines_of(const std::vector<HelpEntry>& entries, bool headings) {
  std::string text, section;
  for (const HelpEntry& entry : entries) {
    if (headings && entry.section != section) text += "\n" + entry.section + "\n";
    section = entry.section;
    const bool own_line = entry.left.size() >= kColumn;
    if (own_line) text += entry.left + "\n";
    std::istringstream words(entry.right);
    const std::vector<std::string> right{std::istream_iterator<std::string>(words), {}};
    text += wrapped(own_line ? "" : entry.left, right, kColumn, kWidth, /*gap=*/1) + "\n";
  }
  return text;
}

std::string mentioning(Command command, const std::string& topic) {
  const std::string shoal_command = "`shoal " + command_name(command);
  const std::string name = topic.substr(std::min(topic.find_first_not_of('-'), topic.size()));
  const std::string word = lower(with_dashes(name));
  std::vector<HelpEntry> found = help_entries(command);
  std::erase_if(found, [&](const HelpEntry& entry) {
    const std::string text = lower(entry.section + "\n" + entry.left + "\n" + entry.right);
    for (size_t at = 0; (at = text.find(word, at)) != text.npos; ++at)  // match word starts only
      if (at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]))) return false;
    return true;
  });
  if (!found.empty())
    return "Lines of " + shoal_command + " --help all` that mention '" + name + "'\n" +
           lines_of(found, /*headings=*/true);
  const std::string near = nearest_option(command, name);
  return "no option of " + shoal_command + "` mentions '" + name + "'; " +
         (near.empty() ? "" : "did you mean --" + near + "? ") + shoal_command +
         " --help all` shows all\n";
}

}  // namespace

std::string exit_code_help() {
  return lines_of(exit_codes(/*resumes=*/true), /*headings=*/true).substr(1);
}

std::string command_help(Command command, const std::string& topic) {
  if (topic != kCommonHelp && topic != "all") return mentioning(command, topic);
  const std::vector<HelpEntry> all = help_entries(command);
  const std::string title = "Usage: " + usage(command) + "\n";
  const char* off =
      command == Command::train ? "--no-NAME or --NAME=false turns an option off: --no-ema\n" : "";
  const std::string whole = title + off + lines_of(all, /*headings=*/true);
  if (topic == "all" || std::count(whole.begin(), whole.end(), '\n') <= kScreen) return whole;
  std::vector<HelpEntry> common = all;
  std::erase_if(common, [](const HelpEntry& entry) { return !entry.common; });
  return title + "\n" + lines_of(common, /*headings=*/false) + "\nAll options" +
         (command == Command::train ? ", recipes" : "") + " and exit codes: `shoal " +
         command_name(command) + " --help all`; search: `--help WORD`\n";
}

}  // namespace shoal::app
