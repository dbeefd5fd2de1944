#include "app/options/manual/completion.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Escapes `text` for use inside single quotes. Adds a backslash before each backslash and each
// character of `special`.
std::string escaped(const std::string& text, const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (c == '\\' || special.find(c) != special.npos) result += '\\';
    result += c;
  }
  return result;
}

// Returns the action of zsh's _arguments that completes the values. `colon`: how to write a colon.
// _arguments splits the specification of an option at colons, so pass "\\:" for options. Pass ":"
// for positional words.
std::string action(const Values& values, const std::string& colon) {
  std::vector<std::string> words;
  for (const std::string& word : values.words) words.push_back(escaped(word, ": ()[]"));
  const std::string list = "(" + joined(words, " ") + ")";
  const auto alternative = [&](const std::string& kind, const std::string& files) {
    return "{_alternative \"values" + colon + "value" + colon + list + "\" \"files" + colon + kind +
           colon + files + "\"}";
  };
  switch (values.paths) {
    case Values::Paths::files:
      return words.empty() ? "_files" : alternative("file", "_files");
    case Values::Paths::folders:
      return words.empty() ? "_files -/" : alternative("folder", "_files -/");
    case Values::Paths::none:
      break;
  }
  return words.empty() ? " " : list;
}

void add_option(const Option& option, std::string& text) {
  const std::string help = "[" + escaped(option.help, "[]:") + "]";
  const auto add = [&](const std::string& spec) { text += " \\\n        '" + spec + "'"; };
  if (option.kind != Kind::flag) {
    const std::string value = escaped(option.choices.empty() ? value_name(option) : "value", ":[]");
    const char* const colon = option.kind == Kind::value ? ":" : "::";
    const std::string rest = help + colon + value + ":" + action(values_of_option(option), "\\:");
    const char* const equals = option.kind == Kind::value ? "=" : "=-";
    add("--" + option.name + equals + rest);
    if (option.letter) add(std::string("-") + option.letter + rest);
  } else {
    add("--" + option.name + help);
  }
  if (option.can_be_off()) add("--no-" + option.name + "[off\\: --" + option.name + "]");
}

}  // namespace

std::string zsh_completion() {
  std::string text =
      "#compdef shoal\n# Completes the command line of shoal in zsh. Made by `shoal completion "
      "zsh`.\n_shoal() {\n  local -a commands=(\n";
  for (const CommandRow& row : commands())
    text += "    '" + row.name + ":" + escaped(row.summary, "") + "'\n";
  text +=
      "  )\n  local -a first=(help $commands)\n"
      "  if ((CURRENT == 2)); then\n    if [[ $PREFIX == -* ]]; then\n"
      "      compadd -- --help --version\n    else\n      _describe command first\n    fi\n"
      "    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n"
      "    help) _describe command commands ;;\n";
  for (const CommandRow& row : commands()) {
    text += "    " + row.name + ")\n      _arguments -s";
    for (const Option* option : completed_options(row.command)) add_option(*option, text);
    const Values words = values_of_words(row);
    if (!words.words.empty() || words.paths != Values::Paths::none)
      text += " \\\n        '*:word:" + action(words, ":") + "'";
    text += "\n      ;;\n";
  }
  return text +
         "  esac\n}\nif [[ $funcstack[1] == _shoal ]]; then\n  _shoal \"$@\"\nelse\n  compdef "
         "_shoal shoal\nfi\n";
}

}  // namespace shoal::app
