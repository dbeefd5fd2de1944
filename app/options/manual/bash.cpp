#include <map>

#include "app/options/manual/completion.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// The script before the `case` of each command. bash splits words at = and :, so the script reads
// the line itself. `option` is the option whose value is completed.
constexpr const char* kBegin =
    R"(# Completes the command line of shoal in bash. Made by `shoal completion bash`.
_shoal() {
  local line=${COMP_LINE:0:COMP_POINT} current command option names= values= paths=
  local -a before
  current=${line##*[[:space:]]}
  read -ra before <<<"${line%"$current"}"
  command=${before[1]-}
  option=${before[${#before[@]} - 1]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
  elif [[ $current == -* ]]; then
    option=
  fi
  COMPREPLY=()
  case $command in
)";

// The script after the cases. It removes everything up to the last colon from the completions,
// because bash replaces only the text after that colon.
constexpr const char* kEnd = R"(  esac
  if [[ $current == -* || -z $values$paths ]]; then
    values=$names paths=
  fi
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  if [[ -n $paths ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$paths" -- "$current")
    compopt -o filenames 2>/dev/null || true
  fi
  if [[ $current == *:* && ${COMP_WORDBREAKS-} == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
  fi
}
complete -F _shoal shoal
)";

// Returns the script's assignments to `values` and `paths`, or `return` if nothing can be completed
// (numbers and other text).
std::string assignments(const Values& values) {
  std::string text;
  if (!values.words.empty()) text += "values='" + joined(values.words, " ") + "'";
  if (values.paths == Values::Paths::none) return text.empty() ? "return" : text;
  return text + (text.empty() ? "" : " ") +
         "paths=" + (values.paths == Values::Paths::files ? "-f" : "-d");
}

std::string case_of(const CommandRow& row) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> options_of;  // assignments → options
  for (const Option* option : completed_options(row.command)) {
    names.push_back("--" + option->name);
    if (option->can_be_off()) names.push_back("--no-" + option->name);
    if (option->kind == Kind::flag) continue;
    auto& options = options_of[assignments(values_of_option(*option))];
    options.push_back("--" + option->name);
    if (option->letter) options.push_back(std::string("-") + option->letter);
  }
  std::string text =
      "    " + row.name + ")\n      names='" + joined(names, " ") + "'\n      case $option in\n";
  for (const auto& [assignment, options] : options_of)
    text += "        " + joined(options, " | ") + ") " + assignment + " ;;\n";
  const std::string words = assignments(values_of_words(row));
  if (words != "return") text += "        *) " + words + " ;;\n";
  return text + "      esac\n      ;;\n";
}

}  // namespace

std::string bash_completion() {
  std::string text = kBegin, names;
  for (const CommandRow& row : commands()) {
    text += case_of(row);
    names += row.name + " ";
  }
  return text + "    help) values='" + names + "' ;;\n    '') names='--help --version' values='" +
         names + "help' ;;\n" + kEnd;
}

}  // namespace shoal::app
