// Parses a command line into Arguments.
#include <algorithm>
#include <cxxopts.hpp>
#include <set>

#include "app/options/foreign/foreign_options.h"
#include "app/options/options.h"
#include "app/options/recipes.h"
#include "app/options/rewritten_words.h"
#include "app/options/settings/encodings.h"
#include "base/nearest.h"
#include "base/text.h"

namespace shoal::app {
namespace {

using Words = std::vector<std::string>;

// Returns the options and values in the order of `words`, and stores the positional words in
// `positional`.
Pairs tokenize(Command command, const Words& words, Words& positional) {
  cxxopts::Options known("shoal");
  known.allow_unrecognised_options();  // without this, cxxopts rejects positional words
  // Only options in `words` are added to `known`: adding all would take milliseconds.
  std::set<const Option*> given;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const Option* const option = find_option(command, word.substr(2, word.find('=') - 2));
    if (!option || !given.insert(option).second) continue;
    auto value = cxxopts::value<std::string>();
    if (option->kind != Kind::value) value = value->implicit_value(option->bare);
    known.add_options()(option->name, "", value);
  }
  std::vector<const char*> argv = {"shoal"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    const auto parsed = known.parse(static_cast<int>(argv.size()), argv.data());
    Pairs pairs;
    if (parsed.count("config") > 1)
      throw UserError("--config is given twice; put the settings into one file");
    if (command == Command::average && parsed.count("weights") > 1)
      throw UserError(
          "--weights is given twice; write several sets of weights without an option, as in "
          "`shoal average RUN RUN --output FILE`");
    for (const auto& pair : parsed.arguments()) pairs.emplace_back(pair.key(), pair.value());
    positional = parsed.unmatched();
    return pairs;
  } catch (const std::exception& error) {
    throw UserError(std::string(error.what()) + "; see `shoal " + command_name(command) +
                    " --help`");
  }
}

// Applies the values of the recipe `name`. `given`: names of the options that are set outside the
// recipe. Throws UserError for an unknown recipe.
void apply_recipe(Arguments& arguments, const std::string& name,
                  const std::set<std::string>& given) {
  arguments.recipe = name;
  if (name == "list" || name == "none") return;
  if (const Recipe* recipe = find_recipe(name)) {
    for (const auto& [option, value] : recipe->values) {
      // Skip values that a given option determines: --global-batch-size determines the batch size,
      // --batch-size the global batch size, --size the evaluation size, and so on.
      if (option == "batch-size" && given.contains("global-batch-size")) continue;
      if (option == "global-batch-size" && given.contains("batch-size")) continue;
      if (option == "val-size" && given.contains("size")) continue;
      if (option == "val-resize" &&
          (given.contains("size") || given.contains("val-size") || given.contains("crop-pct")))
        continue;
      apply(arguments, option, value, kRecipeOrigin + name);
    }
    return;
  }
  Words names;
  for (const Recipe& known : recipes()) names.push_back(known.name);
  const std::string near = nearest(name, names);
  throw UserError(
      "--recipe is '" + name + "'" +
      (near.empty() ? "; the recipes are: " : "; did you mean " + near + "? The recipes are: ") +
      joined(names));
}

// Like translate(), but an error also names the setting's origin.
Pairs translated(const ForeignOption& option, const Setting& setting, Words& ineffective) {
  try {
    return translate(option, setting.value, ineffective);
  } catch (const UserError& error) {
    throw UserError(setting.origin + ": " + error.what());
  }
}

// Translates other programs' options in `settings` to shoal's. If one of them identifies its
// program, sets `defaults` to the recipe with that program's defaults. Throws UserError for unknown
// options.
std::vector<Setting> in_our_words(Arguments& arguments, const std::vector<Setting>& settings,
                                  std::string& defaults) {
  std::vector<Setting> ours;
  for (const Setting& setting : settings) {
    const ForeignOption* other = find_foreign(setting.name);
    if (const Option* option = find_option(arguments.command, setting.name)) {
      ours.push_back({option->name, setting.value, setting.origin, setting.name});
    } else if (other && arguments.command == Command::train) {
      if (const std::string recipe = defaults_of(*other); !recipe.empty()) defaults = recipe;
      const Pairs pairs = translated(*other, setting, arguments.ineffective);
      for (const auto& [name, value] : pairs)
        ours.push_back({name, value, setting.origin, pairs.size() == 1 ? setting.name : ""});
    } else {
      require_option(arguments.command, setting.name, setting.origin);
    }
  }
  return ours;
}

// An option, its value, and the words between the value and the next option.
struct Surplus {
  const Option* option = nullptr;  // null: no words follow an option's value
  Words values;                    // the value, then the words
};

// Returns the first option in `words` (RewrittenWords::words) whose value is followed by words.
Surplus find_surplus(Command command, const Words& words) {
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  for (size_t i = 0; i + 2 < words.size() && words[i] != "--"; ++i) {
    const Option* const option =
        words[i].starts_with("--") ? find_option(command, words[i].substr(2)) : nullptr;
    if (!option || option->kind != Kind::value) continue;
    const auto value = words.begin() + static_cast<std::ptrdiff_t>(++i);
    const auto end = std::find_if(value + 1, words.end(), is_option);
    if (end - value > 1) return {option, {value, end}};
  }
  return {};
}

// Returns the pattern that the shell probably expanded to these paths, such as "a/b_*.bin"; empty
// if they are in several folders or their names have nothing in common.
std::string common_pattern(const Words& paths) {
  const std::string& first = paths.front();
  const size_t name = first.rfind('/') + 1;  // where the name begins; 0 without a slash
  size_t shortest = first.size();
  size_t start = shortest, end = shortest;  // lengths of the common start and end
  for (const std::string& path : paths) {
    if (path.rfind('/') + 1 != name) return "";
    const auto differs = std::ranges::mismatch(first, path).in1;
    start = std::min(start, static_cast<size_t>(differs - first.begin()));
    const auto tail = std::mismatch(first.rbegin(), first.rend(), path.rbegin(), path.rend()).first;
    end = std::min(end, static_cast<size_t>(tail - first.rbegin()));
    shortest = std::min(shortest, path.size());
  }
  end = std::min(end, shortest - start);
  return start < name || start + end == name
             ? ""
             : first.substr(0, start) + "*" + first.substr(first.size() - end);
}

// Returns the pattern that the shell may have expanded to the values of --train or --val; empty if
// they have nothing in common.
std::string expanded_pattern(const Surplus& surplus) {
  const bool takes_pattern =
      surplus.option && (surplus.option->name == "train" || surplus.option->name == "val");
  return takes_pattern ? common_pattern(surplus.values) : "";
}

// Returns the error for an unexpected word. It names the first word after the value of
// `surplus.option` or, if there is no such option, the word `last`.
UserError unexpected_word(Command command, const std::string& last, const Surplus& surplus) {
  if (!surplus.option)
    return UserError("unexpected word '" + last + "'; options begin with --" +
                     (find_option(command, "data") ? ", as in --data DIR" : "") + ", see `shoal " +
                     command_name(command) + " --help`");
  const std::string option = "--" + surplus.option->name;
  const std::string pattern = expanded_pattern(surplus);
  return UserError(
      "unexpected word '" + surplus.values.at(1) + "' after " + option + " " +
      surplus.values.front() + ": " + option + " takes one value" +
      (pattern.empty() ? "" : "; quote the pattern: " + option + " '" + pattern + "'"));
}

// Handles positional words. Commands that accept them keep them. For `train` and `check`, a single
// word is the data folder, unless it looks like part of a pattern that the shell has expanded. For
// `train`, it also selects the recipe of PyTorch's imagenet example, whose command lines name the
// folder like this. In all other cases, throws UserError. `surplus`: result of find_surplus().
void take_positional(Arguments& arguments, const Pairs& pairs, const Surplus& surplus,
                     std::vector<Setting>& ours, std::string& defaults) {
  Words& words = arguments.paths;
  if (words.empty() || row_of(arguments.command).takes_paths) return;
  const auto is_given = [&](const char* name) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) { return pair.first == name; });
  };
  const std::string pattern = expanded_pattern(surplus);
  const bool expanded = pattern.find('.', pattern.find('*')) != pattern.npos;
  const bool named = is_given("data") || expanded || (is_given("train") && is_given("val"));
  const bool trains = arguments.command == Command::train;
  if ((trains || arguments.command == Command::check) && words.size() == 1 && !named) {
    ours.push_back({"data", words[0], kCommandLine, words[0]});
    if (trains && defaults.empty()) defaults = kImagenetRecipe;
    words.clear();
    return;
  }
  throw unexpected_word(arguments.command, words.back(), surplus);
}

// Removes settings whose value is null or None. Adds messages to `ineffective` about such settings
// on the command line, and about settings that the same source overrides later under another name.
void drop_overridden(std::vector<Setting>& ours, std::vector<std::string>& ineffective) {
  for (auto first = ours.begin(); first != ours.end(); ++first) {
    if (!decoded(first->value) && first->origin == kCommandLine)
      ineffective.push_back(first->written + " has no effect: " + first->value +
                            " leaves the option unchanged");
    const auto again = std::find_if(first + 1, ours.end(), [&](const Setting& later) {
      return later.name == first->name && later.origin == first->origin &&
             later.written != first->written && later.value != first->value &&
             !later.written.empty() && decoded(later.value);
    });
    if (again != ours.end() && !first->written.empty() && decoded(first->value))
      ineffective.push_back(first->written + " " + first->value +
                            " has no effect: " + again->written + " " + again->value +
                            " is the same option and takes precedence");
  }
  std::erase_if(ours, [](const Setting& setting) { return !decoded(setting.value); });
}

}  // namespace

Arguments parse(Command command, const Words& words, const std::vector<Setting>& settings) {
  Arguments arguments;
  arguments.command = command;
  const RewrittenWords rewritten = rewrite(command, words, arguments.ineffective);
  const Pairs pairs = tokenize(command, rewritten.words, arguments.paths);
  if (std::ranges::find(arguments.paths, "") != arguments.paths.end())
    throw UserError("an argument is empty; check that its shell variable is set");
  std::string recipe;
  std::vector<Setting> ours = in_our_words(arguments, settings, recipe);
  if (!rewritten.recipe.empty()) recipe = rewritten.recipe;
  take_positional(arguments, pairs, find_surplus(command, rewritten.words), ours, recipe);
  for (size_t i = 0; i < pairs.size(); ++i)
    ours.push_back({pairs[i].first, pairs[i].second, kCommandLine, rewritten.written.at(i)});
  resolve_foreign(recipe, words, ours, arguments.ineffective);
  drop_overridden(ours, arguments.ineffective);
  std::set<std::string> given;
  for (const Setting& setting : ours) {
    // `--batch-size auto` adapts to the recipe's global batch size instead of replacing it.
    if (setting.name != "batch-size" || decoded(setting.value) != "auto")
      given.insert(setting.name);
    if (setting.name != "recipe") continue;
    apply(arguments, setting.name, setting.value, setting.origin);
    recipe = arguments.recipe;
  }
  if (!recipe.empty()) apply_recipe(arguments, recipe, given);
  for (const Setting& setting : ours) apply(arguments, setting.name, setting.value, setting.origin);
  return arguments;
}

}  // namespace shoal::app
