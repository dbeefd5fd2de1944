#include "app/options/options.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "app/options/foreign/foreign_options.h"
#include "app/options/option_row.h"
#include "app/options/settings/encodings.h"
#include "base/nearest.h"
#include "base/text.h"

namespace shoal::app {
namespace {

std::vector<std::string> names_of(Command command) {
  std::vector<std::string> names;
  for (const Option& option : options()) {
    if (!option.is_for(command)) continue;
    names.push_back(option.name);
    if (option.can_be_off()) names.push_back("no-" + option.name);
  }
  return names;
}

// If the value is a number outside the option's range, returns what is expected, else "".
std::string expected_number(const Option& option, const std::string& text) {
  const auto value = parse_number<double>(text);
  const Range& range = *option.range;
  if (!value || range.holds(*value)) return "";
  const bool above_limit = range.high >= kUnlimited && *value > range.high;
  if (above_limit && option.takes_fractions) return "";
  return "a number " + range.sentence() + (above_limit ? ", at most 2^40" : "");
}

// Returns the default for commands that are not in Option::own_defaults.
std::string common_default(const Option& option, const Arguments& defaults) {
  const std::string value = option.get(defaults);
  if (option.kind == Kind::flag) return value == "true" ? "on" : "off";
  return value.empty() ? option.unset : readable(value);
}

}  // namespace

std::string readable(std::string text) {
  if (text == number(4.0 / 3)) return "4/3";
  if (text == number(1.0 / 3)) return "1/3";
  const size_t zero = text.find("e-0");
  if (zero != text.npos && text.find_first_not_of("0123456789.e-") == text.npos)
    text.erase(zero + 2, 1);
  return text;
}

std::string alternatives(const std::vector<std::string>& choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  }
  return text;
}

bool Range::holds(double value) const {
  return (above_low ? value > low : value >= low) && (below_high ? value < high : value <= high);
}

std::string Range::sentence() const {
  const std::string from = above_low ? "above " + number(low) : number(low);
  if (high >= kUnlimited) return above_low ? from : "of " + from + " or more";
  if (below_high) return "from " + from + " to below " + number(high);
  return above_low ? from + " and at most " + number(high) : "from " + from + " to " + number(high);
}

std::string Range::formula(const std::string& name) const {
  if (high >= 1e5) return name + (above_low ? " > " : " >= ") + readable(number(low));
  return readable(number(low)) + (above_low ? " < " : " <= ") + name +
         (below_high ? " < " : " <= ") + readable(number(high));
}

Option Option::unset_is(std::string meaning) && {
  unset = std::move(meaning);
  return std::move(*this);
}

Option Option::default_in(unsigned commands_with_it, std::string meaning) && {
  own_defaults.emplace_back(commands_with_it, std::move(meaning));
  return std::move(*this);
}

Option Option::off_is(std::string value) && {
  off = std::move(value);
  return std::move(*this);
}

Option Option::spells_lists(std::string spelling) && {
  list = std::move(spelling);
  return std::move(*this);
}

Option Option::short_form(char letter_of_option) && {
  letter = letter_of_option;
  return std::move(*this);
}

Option Option::also_called(std::vector<std::string> names) && {
  other_names = std::move(names);
  return std::move(*this);
}

Option Option::within(double low, double high) && {
  range = Range{low, high};
  return std::move(*this);
}

Option Option::from_below(double low, double high) && {
  range = Range{low, high, false, true};
  return std::move(*this);
}

Option Option::above(double low, double high) && {
  range = Range{low, high, true, false};
  return std::move(*this);
}

Option Option::at_least(double low) && {
  range = Range{low, kUnlimited};
  return std::move(*this);
}

Option Option::changes_results(train::MayDiffer may_differ, std::string advice) && {
  saving = Saving{may_differ, std::move(advice), {}, false};
  return std::move(*this);
}

Option Option::replaced_by(std::string option) && {
  saving->replaced_by.push_back(std::move(option));
  return std::move(*this);
}

Option Option::of_evaluation() && {
  saving->evaluation = true;
  return std::move(*this);
}

Option Option::refuses(std::string value, std::string because) && {
  refused = std::move(value);
  refused_because = std::move(because);
  return std::move(*this);
}

Option Option::of_training() && {
  training_only = true;
  return std::move(*this);
}

Option Option::in_bench(std::vector<std::string> names_of_measurements) && {
  measurements = std::move(names_of_measurements);
  return std::move(*this);
}

std::string_view source_of(std::string_view origin) {
  constexpr std::string_view kVariables = "SM_HP_";
  if (origin.starts_with(kVariables)) return kVariables;
  const size_t end = origin.find_last_not_of("0123456789");
  const bool has_line = end != origin.npos && end + 1 < origin.size() && origin[end] == ':';
  return has_line ? origin.substr(0, end) : origin;
}

std::string with_dashes(std::string_view name) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

const Option* find_option(Command command, std::string_view name) {
  const std::string wanted = with_dashes(name);
  for (const Option& option : options()) {
    if (option.name == wanted && option.is_for(command)) return &option;
  }
  return nullptr;
}

namespace {

// Names that a misspelled option of a command may mean.
struct Meanings {
  std::vector<std::string> names;              // begins with shoal's names, which win ties
  std::map<std::string, std::string> ours_of;  // another program's name → shoal's
};

Meanings meanings_of(Command command) {
  Meanings meanings{names_of(command), {}};
  const auto hint = [&](const std::string& other, const std::string& ours) {
    if (find_option(command, ours) && meanings.ours_of.emplace(other, ours).second)
      meanings.names.push_back(other);
  };
  for (const Option& option : options())
    for (const std::string& other : option.other_names) hint(other, option.name);
  for (const ForeignOption& other : foreign_options()) {
    if (other.name.size() > 1) hint(other.name, other.ours);
  }
  return meanings;
}

}  // namespace

std::string nearest_option(Command command, std::string_view name) {
  static std::mutex mutex;
  static std::map<Command, Meanings> all;  // built when needed: a misspelled option is rare
  const std::lock_guard lock(mutex);
  if (!all.contains(command)) all.emplace(command, meanings_of(command));
  const Meanings& meanings = all.at(command);
  const std::string found = nearest(with_dashes(name), meanings.names);
  const auto ours = meanings.ours_of.find(found);
  return ours == meanings.ours_of.end() ? found : ours->second;
}

UserError unknown_options(Command command, const std::vector<std::string>& written,
                          const std::string& origin) {
  std::vector<std::string> names;
  for (const std::string& name : written) {
    const std::string near =
        nearest_option(command, name.substr(std::min(name.find_first_not_of('-'), name.size())));
    names.push_back(name + (near.empty() ? "" : " (did you mean --" + near + "?)"));
  }
  const std::string shoal_command = "`shoal " + command_name(command);
  return UserError("unknown option" + std::string(written.size() > 1 ? "s " : " ") + joined(names) +
                   " of " + shoal_command + "` (" + origin + "); see " + shoal_command +
                   " --help`");
}

bool is_on_command_line(const Arguments& arguments, const std::string& option) {
  const auto given = arguments.origins.find(option);
  return given != arguments.origins.end() && given->second == kCommandLine;
}

bool is_chosen(const Arguments& arguments, const std::string& option) {
  const auto origin = arguments.origins.find(option);
  return origin != arguments.origins.end() &&
         (!origin->second.starts_with(kRecipeOrigin) || arguments.origins.contains("recipe"));
}

const Option& require_option(Command command, std::string_view name, const std::string& origin) {
  if (const Option* option = find_option(command, name)) return *option;
  throw unknown_options(command, {"--" + std::string(name)}, origin);
}

void apply(Arguments& arguments, std::string_view name, const std::string& value,
           const std::string& origin) {
  const Option& option = require_option(arguments.command, name, origin);
  const std::optional<std::string> plain = decoded(value);
  if (!plain) return;
  std::string expected;
  try {
    const std::string text = in_words_of(option, *plain);
    const auto& choices = option.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end())
      expected = alternatives(choices) +
                 (!text.empty() && text == option.refused ? ": " + option.refused_because : "");
    else if (option.range)
      expected = expected_number(option, text);
    if (expected.empty()) option.set(arguments, text);
  } catch (const std::invalid_argument& error) {
    expected = error.what();
  }
  if (!expected.empty()) {
    throw UserError("--" + option.name + " is '" + *plain + "' (" + origin + "); it must be " +
                    expected);
  }
  arguments.origins[option.name] = origin;
}

std::string default_of(const Option& option, const Arguments& defaults, Command command) {
  for (const auto& [some, meaning] : option.own_defaults)
    if (some & static_cast<unsigned>(command)) return meaning;
  return common_default(option, defaults);
}

std::string defaults_of(const Option& option, const Arguments& defaults) {
  std::string text = common_default(option, defaults);
  for (const auto& [some, meaning] : option.own_defaults) {
    std::vector<std::string> names;
    for (const CommandRow& row : commands())
      if (some & static_cast<unsigned>(row.command)) names.push_back(row.name);
    text += "; " + joined(names) + ": " + meaning;
  }
  return text;
}

std::string value_name(const Option& option) {
  return option.placeholder.substr(0, option.placeholder.find('|'));
}

}  // namespace shoal::app
