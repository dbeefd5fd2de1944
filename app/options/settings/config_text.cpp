#include "app/options/settings/config_text.h"

#include "app/options/settings/config_file.h"
#include "app/options/settings/implied_settings.h"
#include "app/options/settings/settings.h"
#include "base/json.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Whether TOML can hold `text` as a number, without quotes, so that shoal reads back the same text.
bool is_toml_number(const std::string& text) {
  if (const auto whole = parse_number<int64_t>(text)) return std::to_string(*whole) == text;
  const auto real = parse_number<double>(text);
  const bool has_digits_only = text.find_first_not_of("+-.0123456789e") == text.npos;
  return real && has_digits_only && number(*real) == text && text.find_first_of(".e") != text.npos;
}

std::string toml_text(const std::string& text) {
  return json_text(nlohmann::json(text));
}

std::string toml_value(const Option& option, const std::string& text) {
  const bool is_switch = text == "true" || text == "false";
  if (is_switch && option.kind != Kind::value) return text;
  return is_toml_number(text) ? text : toml_text(text);
}

// Returns the line of one option, without its origin.
std::string assignment(const Option& option, const std::string& value) {
  return option.name + " = " + toml_value(option, value);
}

// Whether the file names the recipe. If --weights is given and the recipe is only implied, the file
// contains the recipe's values instead: a name in the file would count as given by the user, so the
// weights would not replace the recipe's network and sizes (take_network()).
bool names_recipe(const Arguments& arguments) {
  return arguments.origins.contains("recipe") || arguments.job.weights.empty();
}

// Returns the line of an option that was set. It ends with a comment that names the origin.
std::string given_line(const Option& option, const std::string& value, const Arguments& arguments) {
  const std::string& origin = arguments.origins.at(option.name);
  // An empty value means that the option was switched off.
  const std::string text = !value.empty() ? value : option.off.empty() ? "none" : option.off;
  const std::string shown = masked(text), comment = "  # " + printable(masked(origin));
  if (shown != text)
    return "# " + assignment(option, shown) + comment + "; secret: give it on the command line";
  if (!is_utf8(text))
    return "# " + assignment(option, shown) + comment + "; not UTF-8: give it on the command line";
  // Comments out values that come from `recipe` or `weights`, because these options set them again.
  // Also comments out --resume, because it applies to a single start of a run.
  const bool implied = (origin.starts_with(kRecipeOrigin) && names_recipe(arguments)) ||
                       origin.starts_with(kWeightsOrigin) || option.name == "resume";
  return (implied ? "# " : "") + assignment(option, text) + comment;
}

std::string option_line(const Option& option, const Arguments& arguments) {
  const std::string value = option.get(arguments);
  if (arguments.origins.contains(option.name)) return given_line(option, value, arguments);
  if (option.name == "recipe" && !value.empty())
    return (names_recipe(arguments) ? "" : "# ") + assignment(option, value) +
           "  # the defaults of the program whose options were given";
  if (value.empty()) {
    const std::string meaning = default_of(option, arguments, arguments.command);
    return "# " + option.name + " =  # default: " + (meaning.empty() ? "none" : meaning);
  }
  return "# " + assignment(option, masked(value)) + "  # default";
}

}  // namespace

std::string config_text(const Arguments& arguments, const train::Provenance& provenance) {
  const std::string command = "shoal " + command_name(arguments.command);
  std::string text =
      "# Settings of `" + command + "`, for `" + printable(shell_text(command, arguments.paths)) +
      " --config FILE`. Lines that begin with # are comments:\n"
      "# defaults, and values that the recipe sets.\n#\n# shoal " +
      provenance.version + " (" + provenance.commit + "): " + printable(provenance.command) + "\n#";
  for (const auto& [name, value] : provenance.host) text += " " + name + "=" + printable(value);
  std::string group;
  for (const Option& option : options()) {
    if (!option.is_for(arguments.command) || option.name == "help" || option.name == "config")
      continue;
    if (option.group != group) text += "\n\n[" + group_name(option.group) + "]";
    group = option.group;
    text += "\n" + option_line(option, arguments);
  }
  return text + "\n";
}

}  // namespace shoal::app
