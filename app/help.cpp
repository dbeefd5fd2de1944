// Text of --help, generated from the table of options.
#include <algorithm>
#include <sstream>

#include "app/failure.h"
#include "app/options.h"
#include "app/recipes.h"

namespace shoal::app {
namespace {

constexpr size_t kColumn = 30;  // where the explanation begins
constexpr size_t kWidth = 100;

// `text` broken at blanks; the first line starts at column `start`, the others at kColumn.
std::string wrapped(const std::string& text, size_t start) {
  std::istringstream words(text);
  std::string word, result, line(start < kColumn ? kColumn - start : 0, ' ');
  if (start + 1 > kColumn) line = "\n" + std::string(kColumn, ' ');
  size_t column = kColumn;
  result = line;
  bool first = true;
  while (words >> word) {
    const size_t length = static_cast<size_t>(std::count_if(word.begin(), word.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));  // UTF-8
    if (!first && column + 1 + length > kWidth) {
      result += "\n" + std::string(kColumn, ' ');
      column = kColumn;
      first = true;
    }
    result += (first ? "" : " ") + word;
    column += length + (first ? 0 : 1);
    first = false;
  }
  return result + "\n";
}

std::string left_side(const Option& option) {
  std::string value = option.placeholder;
  if (!option.choices.empty()) {
    value.clear();
    for (const std::string& choice : option.choices) value += (value.empty() ? "" : "|") + choice;
  }
  switch (option.kind) {
    case Kind::flag:
      return option.name == "help" ? "  -h, --help" : "  --[no-]" + option.name;
    case Kind::optional_value:
      return "  --" + option.name + " [" + value + "]";
    case Kind::value:
      break;
  }
  return "  --" + option.name + " " + value;
}

std::string right_side(const Option& option, const Arguments& defaults) {
  if (option.name == "help") return option.help;
  std::string value = option.get(defaults);
  if (option.kind == Kind::flag) value = value == "true" ? "on" : "off";
  if (value.empty()) value = option.unset;
  return option.help + (value.empty() ? "" : " [default: " + value + "]");
}

std::string usage(Command command) {
  for (const CommandRow& row : commands()) {
    if (row.command == command)
      return "shoal " + row.name + " " + row.arguments + "\n" + row.summary;
  }
  return "";
}

}  // namespace

std::string exit_code_help() {
  const std::vector<std::pair<std::string, std::string>> codes = {
      {std::to_string(kOk), "done"},
      {std::to_string(kFailure), "failed: input or output, memory, network; --resume continues"},
      {std::to_string(kUsage), "a wrong option, value or data folder"},
      {std::to_string(kSetupMissing), "something must be installed first"},
      {std::to_string(kPeerLost), "lost another process, which failed first; --resume continues"},
      {std::to_string(kInterrupted) + ", " + std::to_string(kTerminated),
       "stopped by SIGINT, SIGTERM after saving; --resume continues (on SageMaker: 0)"},
      {"128+N", "a process was ended by signal N; --resume continues"}};
  std::string text = "Exit codes\n";
  for (const auto& [code, meaning] : codes) text += "  " + code + wrapped(meaning, code.size() + 2);
  return text;
}

std::string command_help(Command command) {
  const Arguments defaults;
  std::string text = "Usage: " + usage(command) + "\n", group;
  for (const Option& option : options()) {
    if (!(option.commands & static_cast<unsigned>(command))) continue;
    if (option.group != group) text += "\n" + option.group + "\n";
    group = option.group;
    const std::string left = left_side(option);
    text += left + wrapped(right_side(option, defaults), left.size());
  }
  if (command == Command::train) {
    text += "\nRecipes (options given beside a recipe win)\n";
    for (const Recipe& recipe : recipes())
      text += "  " + recipe.name + wrapped(recipe.summary, recipe.name.size() + 2);
  }
  return text + "\n" + exit_code_help();
}

}  // namespace shoal::app
