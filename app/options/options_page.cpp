// Generates docs/options.md from the option table.
#include "app/options/options.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr const char* kHeader =
    "# Options\n\n"
    "This page is generated from the option table; a test compares the two.\n"
    "`shoal COMMAND --help all` prints all options of a command, `--help WORD` the options that\n"
    "mention a word.\n\n"
    "Write an option as `--name VALUE` or `--name=VALUE`; `_` and `-` are the same in a name.\n"
    "`--no-NAME` turns an option off if it can be off. The column *resume* applies to options\n"
    "that change results and are saved in checkpoints. It states whether `--resume` accepts\n"
    "another value: *free*, always (the change is logged); *epoch*, only at the end of an\n"
    "epoch; *fixed*, never. An empty cell means that the option is not saved: a resumed run\n"
    "takes it from its own command line.\n";

// Returns the text of one table cell, with | escaped.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

std::string values_of(const Option& option) {
  if (option.kind == Kind::flag) return "";
  const std::string values = option.choices.empty() ? option.placeholder : joined(option.choices);
  return option.kind == Kind::optional_value ? "[" + values + "]" : values;
}

std::string resume_of(const Option& option) {
  if (!option.saving) return "";
  switch (option.saving->may_differ) {
    case train::MayDiffer::always:
      return "free";
    case train::MayDiffer::between_epochs:
      return "epoch";
    case train::MayDiffer::never:
      break;
  }
  return "fixed";
}

std::string commands_of(const Option& option) {
  std::vector<std::string> names;
  for (const CommandRow& row : commands()) {
    if (option.is_for(row.command)) names.push_back(row.name);
  }
  return names.size() == commands().size() ? "all" : joined(names);
}

}  // namespace

std::string options_page() {
  std::string page = kHeader, group;
  const Arguments defaults;
  for (const Option& option : options()) {
    if (option.group != group)
      page += "\n## " + option.group +
              "\n\n| option | value | meaning | default | resume | commands |\n"
              "|---|---|---|---|---|---|\n";
    group = option.group;
    std::string meaning = option.help;
    if (option.range) meaning += ", `" + option.range->formula(value_name(option)) + "`";
    const std::string letter = option.letter ? std::string("`-") + option.letter + "`, " : "";
    page += "| " + letter + "`--" + option.name + "` | " + cell(values_of(option)) + " | " +
            cell(meaning) + " | " + cell(defaults_of(option, defaults)) + " | " +
            resume_of(option) + " | " + commands_of(option) + " |\n";
  }
  return page;
}

}  // namespace shoal::app
