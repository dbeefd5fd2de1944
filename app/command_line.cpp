// From the words of a command line to Arguments. cxxopts splits and pairs them; what it does not
// know is done before: '_' for '-', --no-flag, and values in the next word of a flag or of
// --resume.
#include <algorithm>
#include <cctype>
#include <cxxopts.hpp>

#include "app/options.h"
#include "app/recipes.h"

namespace shoal::app {
namespace {

using train::UserError;
using Words = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kOrigin = "command line";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The option of a flag written as --no-NAME, or null.
const Option* find_negated(Command command, const std::string& name) {
  if (name.substr(0, 3) != "no-" && name.substr(0, 3) != "no_") return nullptr;
  const Option* option = find_option(command, name.substr(3));
  return option && option->kind == Kind::flag && option->name != "help" ? option : nullptr;
}

// Whether `next` (null at the end of the line) is the value of an option that was written without
// "=".
bool takes(Command command, const Option& option, const std::string* next) {
  switch (option.kind) {
    case Kind::flag:
      return next && (next->empty() || lower(*next) == "true" || lower(*next) == "false");
    case Kind::optional_value:
      return next && next->substr(0, 1) != "-";
    case Kind::value:
      break;
  }
  if (!next) throw UserError("--" + option.name + " needs a value");
  if (next->substr(0, 2) == "--" && find_option(command, next->substr(2, next->find('=') - 2))) {
    throw UserError("--" + option.name + " needs a value, but " + *next + " follows");
  }
  return true;
}

// The option that begins with `word`, as --name or --name=VALUE. `next` says whether it took the
// next word.
std::string normalise(Command command, const std::string& word, const std::string* next,
                      bool& took) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string name = word.substr(2, equals - 2);
  if (const Option* negated = find_negated(command, name); negated && !find_option(command, name)) {
    if (equals < word.size()) {
      throw UserError("--" + name + " takes no value; write --" + negated->name +
                      "=true or =false");
    }
    return "--" + negated->name + "=false";
  }
  const Option& option = require_option(command, name, kOrigin);
  if (equals < word.size()) return "--" + option.name + word.substr(equals);
  took = takes(command, option, next);
  const bool bare =
      !took || (option.kind != Kind::value && next->empty());  // toolkits write --flag ''
  return "--" + option.name + (bare ? "" : "=" + *next);
}

Words normalise(Command command, const Words& words) {
  Words result;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == "-h") {
      result.push_back("--help");
    } else if (word.size() < 2 || word[0] != '-') {
      result.push_back(word);
    } else if (word[1] != '-') {
      require_option(command, word.substr(1), kOrigin);  // there are no other short options
    } else {
      bool took = false;
      result.push_back(
          normalise(command, word, i + 1 < words.size() ? &words[i + 1] : nullptr, took));
      i += took;
    }
  }
  return result;
}

// The options in the order they were written, and the positional words.
Pairs tokenize(Command command, const Words& words, Words& positional) {
  cxxopts::Options known("shoal");
  known.allow_unrecognised_options();  // positional words count as such
  for (const Option& option : options()) {
    if (!(option.commands & static_cast<unsigned>(command))) continue;
    auto value = cxxopts::value<std::string>();
    if (option.kind != Kind::value) value = value->implicit_value("true");
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

void apply_recipe(Arguments& arguments, const std::string& name) {
  arguments.recipe = name;
  if (name == "list") return;
  if (const Recipe* recipe = find_recipe(name)) {
    for (const auto& [option, value] : recipe->values)
      apply(arguments, option, value, "recipe " + name);
    return;
  }
  Words names;
  std::string list;
  for (const Recipe& known : recipes()) {
    names.push_back(known.name);
    list += (list.empty() ? "" : ", ") + known.name;
  }
  const std::string near = nearest(name, names);
  throw UserError("--recipe is '" + name + "'" +
                  (near.empty() ? "; there are: " : "; did you mean " + near + "? There are: ") +
                  list);
}

}  // namespace

Arguments parse(Command command, const Words& words,
                const std::map<std::string, std::string>& settings) {
  Arguments arguments;
  arguments.command = command;
  const Pairs pairs = tokenize(command, normalise(command, words), arguments.paths);
  const bool paths = command == Command::predict || command == Command::pack;
  if (!arguments.paths.empty() && !paths) {
    throw UserError("unexpected word '" + arguments.paths[0] +
                    "'; options begin with --, see `shoal " + command_name(command) + " --help`");
  }
  std::string recipe;
  if (const auto found = settings.find("recipe"); found != settings.end()) recipe = found->second;
  for (const auto& [name, value] : pairs) {
    if (name == "recipe") recipe = value;
  }
  if (!recipe.empty()) apply_recipe(arguments, recipe);
  for (const auto& [name, value] : settings) {
    if (name != "recipe") apply(arguments, name, value, "hyperparameter");
  }
  for (const auto& [name, value] : pairs) apply(arguments, name, value, kOrigin);
  return arguments;
}

Arguments parse(int argc, const char* const* argv) {
  if (argc < 2) throw UserError("no command was given; see `shoal help`");
  return parse(require_command(argv[1]), Words(argv + 2, argv + argc));
}

}  // namespace shoal::app
