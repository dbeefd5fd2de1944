// Parses a command line into Arguments. First rewrites the words to forms that cxxopts supports:
// replaces '_' by '-', resolves --no-NAME, joins an optional value with its option, and translates
// other programs' options.
#include <algorithm>
#include <cxxopts.hpp>
#include <set>

#include "app/options/foreign/foreign_options.h"
#include "app/options/options.h"
#include "app/options/recipes.h"
#include "app/options/settings/encodings.h"
#include "base/nearest.h"
#include "base/text.h"

namespace shoal::app {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kOrigin = "command line";

// Returns the option that the name `no-NAME` switches off, or null.
const Option* find_negated(Command command, const std::string& name) {
  if (name.substr(0, 3) != "no-" && name.substr(0, 3) != "no_") return nullptr;
  const Option* option = find_option(command, name.substr(3));
  return option && (option->kind == Kind::flag || !option->off.empty()) ? option : nullptr;
}

// Whether `next` is the value of an option that was written without "=". Null: no word follows.
bool takes(Command command, const std::string& written, Kind kind, const Words& choices,
           const std::string* next) {
  const std::optional<std::string> plain = next ? decoded(*next) : std::nullopt;
  const bool is_switch =
      next && (!plain || plain->empty() || lower(*plain) == "true" || lower(*plain) == "false");
  switch (kind) {
    case Kind::flag:
      return is_switch;
    case Kind::optional_value:
      if (!next || next->starts_with("-")) return false;
      return choices.empty() || is_switch ||
             std::find(choices.begin(), choices.end(), *plain) != choices.end();
    case Kind::value:
      break;
  }
  if (!next) throw UserError(written + " needs a value");
  if (next->substr(0, 2) == "--" && find_option(command, next->substr(2, next->find('=') - 2))) {
    throw UserError(written + " needs a value, but " + *next + " follows");
  }
  return true;
}

// Rewrites the words for cxxopts: only our own options, each as --name or --name=VALUE.
class Normaliser {
 public:
  Normaliser(Command command, Arguments& arguments) : command_(command), arguments_(arguments) {}

  Words all(const Words& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word == "--") {
        result_.insert(result_.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
        break;
      }
      const std::string* next = i + 1 < words.size() ? &words[i + 1] : nullptr;
      if (word == "-h") {
        i += long_option("--help", next);
      } else if (word.size() < 2 || word[0] != '-') {
        result_.push_back(word);
      } else if (word[1] != '-') {
        i += short_option(word, next);
      } else {
        i += long_option(word, next);
      }
    }
    if (!unknown_.empty()) throw unknown_options(command_, unknown_, kOrigin);
    return result_;
  }

  // The recipe with the defaults of the program whose options were given; may be empty.
  const std::string& defaults() const { return defaults_; }
  // The user's spelling of each option in the result, in the same order. Empty if one option of
  // another program became several.
  const Words& written() const { return written_; }

 private:
  // Both return whether the next word is the option's value.
  bool long_option(const std::string& word, const std::string* next) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(2, equals - 2);
    const bool assigned = equals < word.size();
    const Option* option = find_option(command_, name);
    if (const Option* negated = find_negated(command_, name); negated && !option) {
      if (assigned) {
        throw UserError("--" + name + " takes no value; write --" + negated->name +
                        "=true or =false");
      }
      add("--" + negated->name,
          "--" + negated->name + "=" + (negated->off.empty() ? "false" : negated->off));
      return false;
    }
    if (const ForeignOption* other = foreign(name); other && !option) {
      if (!assigned) return foreign_option(*other, "--" + name, next);
      take(*other, "--" + name, word.substr(equals + 1));
      return false;
    }
    if (!option) return unknown("--" + name, assigned ? nullptr : next);
    const std::string written = "--" + option->name;
    if (assigned) {
      add(written, written + word.substr(equals));
      return false;
    }
    Words values = option->choices;
    if (!option->refused.empty()) values.push_back(option->refused);  // apply() gives the reason
    const bool took = takes(command_, written, option->kind, values, next);
    // Toolkits write --flag ''.
    const bool bare = !took || (option->kind != Kind::value && next->empty());
    add(written, written + (bare ? "" : "=" + *next));
    return took;
  }

  // Handles other programs' one-letter options: -x VALUE, -xVALUE and -x=VALUE.
  bool short_option(const std::string& word, const std::string* next) {
    const std::string name = word.substr(1, 1);
    const ForeignOption* other = foreign(name);
    if (!other || (other->kind == Kind::flag && word.size() > 2))
      return unknown(word, word.size() == 2 ? next : nullptr);
    if (word.size() == 2) return foreign_option(*other, "-" + name, next);
    take(*other, "-" + name, word.substr(word[2] == '=' ? 3 : 2));
    return false;
  }

  // Records an unknown option and continues, so that one error names all of them. Skips `next` if
  // it looks like the option's value.
  bool unknown(const std::string& written, const std::string* next) {
    unknown_.push_back(written);
    const auto is_digit = [&](size_t i) { return next->find_first_of("0123456789.") == i; };
    return next && (!next->starts_with("-") || is_digit(1));
  }

  const ForeignOption* foreign(const std::string& name) const {
    return command_ == Command::train ? find_foreign(name) : nullptr;
  }

  bool foreign_option(const ForeignOption& other, const std::string& written,
                      const std::string* next) {
    const bool took = takes(command_, written, other.kind, {}, next);
    take(other, written, took ? *next : "");
    return took;
  }

  void take(const ForeignOption& other, const std::string& written, const std::string& value) {
    if (const std::string recipe = defaults_of(other); !recipe.empty()) defaults_ = recipe;
    const Pairs pairs = translate(other, value, arguments_.ineffective);
    for (const auto& [option, ours] : pairs)
      add(pairs.size() == 1 ? written : "", "--" + option + "=" + ours);
  }

  void add(const std::string& written, const std::string& word) {
    written_.push_back(written);
    result_.push_back(word);
  }

  Command command_;
  Arguments& arguments_;
  Words result_;
  Words written_, unknown_;  // names in the user's spelling
  std::string defaults_;
};

// Returns the options and values in the order of `words`, and stores the positional words.
Pairs tokenize(Command command, const Words& words, Words& positional) {
  cxxopts::Options known("shoal");
  known.allow_unrecognised_options();  // without this, cxxopts rejects positional words
  for (const Option& option : options()) {
    if (!option.is_for(command)) continue;
    auto value = cxxopts::value<std::string>();
    if (option.kind != Kind::value) value = value->implicit_value(option.bare);
    known.add_options()(option.name, "", value);
  }
  std::vector<const char*> argv = {"shoal"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    const auto parsed = known.parse(static_cast<int>(argv.size()), argv.data());
    Pairs pairs;
    for (const auto& pair : parsed.arguments()) pairs.emplace_back(pair.key(), pair.value());
    positional = parsed.unmatched();
    return pairs;
  } catch (const std::exception& error) {
    throw UserError(std::string(error.what()) + "; see `shoal " + command_name(command) +
                    " --help`");
  }
}

// `given`: names of the options that are set outside the recipe.
void apply_recipe(Arguments& arguments, const std::string& name,
                  const std::set<std::string>& given) {
  arguments.recipe = name;
  if (name == "list" || name == "none") return;
  if (const Recipe* recipe = find_recipe(name)) {
    for (const auto& [option, value] : recipe->values) {
      // The given option determines this one.
      if (option == "batch-size" && given.contains("global-batch-size")) continue;
      if (option == "val-size" && given.contains("size")) continue;
      apply(arguments, option, value, "recipe " + name);
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

// Translates the settings to our names. If a setting identifies another program, sets `defaults` to
// the recipe with that program's defaults.
std::vector<Setting> in_our_words(Arguments& arguments, const std::vector<Setting>& settings,
                                  std::string& defaults) {
  std::vector<Setting> ours;
  for (const Setting& setting : settings) {
    const ForeignOption* other = find_foreign(setting.name);
    if (const Option* option = find_option(arguments.command, setting.name)) {
      ours.push_back({option->name, setting.value, setting.origin, setting.name});
    } else if (other && arguments.command == Command::train) {
      if (const std::string recipe = defaults_of(*other); !recipe.empty()) defaults = recipe;
      const Pairs pairs = translate(*other, setting.value, arguments.ineffective);
      for (const auto& [name, value] : pairs)
        ours.push_back({name, value, setting.origin, pairs.size() == 1 ? setting.name : ""});
    } else {
      require_option(arguments.command, setting.name, setting.origin);
    }
  }
  return ours;
}

// Handles positional words. For `train` a single one is the data folder, as in PyTorch's imagenet
// example; other commands either take paths or reject the word.
void take_positional(Arguments& arguments, const Pairs& pairs, std::vector<Setting>& ours,
                     std::string& defaults) {
  Words& words = arguments.paths;
  if (words.empty() || row_of(arguments.command).takes_paths) return;
  const auto is_given = [&](const char* name) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) { return pair.first == name; });
  };
  const bool named = is_given("data") || (is_given("train") && is_given("val"));
  if (arguments.command == Command::train && words.size() == 1 && !named) {
    ours.push_back({"data", words[0], kOrigin, words[0]});
    if (defaults.empty()) defaults = kImagenetRecipe;
    words.clear();
    return;
  }
  throw UserError("unexpected word '" + words.back() + "'; options begin with --, see `shoal " +
                  command_name(arguments.command) + " --help`");
}

// Removes settings without a value, and reports those from the command line in `ineffective`. Also
// reports each setting that the same source overrides later under another spelling.
void drop_overridden(std::vector<Setting>& ours, std::vector<std::string>& ineffective) {
  for (auto first = ours.begin(); first != ours.end(); ++first) {
    if (!decoded(first->value) && first->origin == kOrigin)
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
  Normaliser normaliser(command, arguments);
  const Pairs pairs = tokenize(command, normaliser.all(words), arguments.paths);
  std::string recipe;
  std::vector<Setting> ours = in_our_words(arguments, settings, recipe);
  if (!normaliser.defaults().empty()) recipe = normaliser.defaults();
  take_positional(arguments, pairs, ours, recipe);
  for (size_t i = 0; i < pairs.size(); ++i)
    ours.push_back({pairs[i].first, pairs[i].second, kOrigin, normaliser.written().at(i)});
  resolve_foreign(recipe, words, ours, arguments.ineffective);
  drop_overridden(ours, arguments.ineffective);
  std::set<std::string> given;
  for (const Setting& setting : ours) {
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
