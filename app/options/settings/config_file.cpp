#include "app/options/settings/config_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "app/options/foreign/foreign_options.h"
#include "app/options/settings/config_entries.h"
#include "app/options/settings/encodings.h"
#include "app/options/settings/timm_args.h"
#include "base/nearest.h"
#include "base/text.h"

namespace shoal::app {
namespace {

bool is_option_of_any(const std::string& name) {
  const auto& all = options();
  return find_foreign(name) || std::any_of(all.begin(), all.end(), [&](const Option& option) {
           return option.name == with_dashes(name);
         });
}

// Whether the value of an option can be a mapping, such as EPOCH: PIXELS.
bool takes_mapping(const std::string& name) {
  const auto& all = options();
  return std::any_of(all.begin(), all.end(), [&](const Option& option) {
    return option.name == with_dashes(name) && option.list.size() == 2;
  });
}

std::vector<ConfigEntry> parse_entries(const std::string& path, const Files& files) {
  const std::string suffix = lower(std::filesystem::path(path).extension().string());
  const bool yaml = suffix == ".yaml" || suffix == ".yml";
  if (!yaml && suffix != ".toml")
    throw UserError("--config is '" + path + "'; it must be a .toml, .yaml or .yml file");
  const auto text = files.is_folder(path) ? std::nullopt : files.read(path);
  if (!text) throw UserError("--config: there is no file " + path);
  return yaml ? parse_yaml(path, *text, takes_mapping) : parse_toml(path, *text, takes_mapping);
}

constexpr size_t kShownUnknown = 10;  // number of unknown settings that the error names

// Sorts the entries of one file into settings, options of other commands, and errors.
class Matcher {
 public:
  Matcher(Command command, const std::string& path) : command_(command), path_(path) {}

  void add(const ConfigEntry& entry) {
    check_group(entry);
    const std::string name = with_dashes(entry.name);
    if (name == "config" || name == "help")
      throw UserError(place(entry) + ": " + entry.name + " belongs on the command line");
    const Option* const option = find_option(command_, name);
    const Option* const of_train = find_option(Command::train, name);
    // For example, train's --ema is a decay, but --ema of other commands is a flag.
    const bool other_meaning = option && of_train && option->kind == Kind::flag &&
                               of_train->kind != Kind::flag && entry.value != "true" &&
                               entry.value != "false";
    const bool known = option || (command_ == Command::train && find_foreign(name));
    if (other_meaning || (!known && is_option_of_any(name))) {
      of_others_.push_back(entry.name);
    } else if (!known) {
      unknown_.push_back(entry);
    } else {
      if (entry.value.empty())
        throw UserError(place(entry) + ": " + entry.name + " is empty; give a value or remove it");
      check_once(entry, option);
      result_.settings.push_back({entry.name, entry.value, place(entry)});
    }
  }

  ConfigFile result() && {
    const std::string command = "`shoal " + command_name(command_);
    if (!unknown_.empty())
      throw UserError(path_ + ": unknown " + (unknown_.size() > 1 ? "settings " : "setting ") +
                      unknown_names() + "; see " + command + " --help all`");
    if (!of_others_.empty())
      result_.notes.push_back(path_ + ": ignored, because " + command +
                              "` does not have these options: " + joined(of_others_));
    return std::move(result_);
  }

 private:
  std::string place(const ConfigEntry& entry) const {
    return entry.line > 0 ? path_ + ":" + std::to_string(entry.line) : path_;
  }

  // Lists only the first few unknown settings: another program's file may have thousands.
  std::string unknown_names() const {
    std::vector<std::string> names;
    for (const ConfigEntry& entry : unknown_)
      names.push_back(entry.name +
                      (names.size() < kShownUnknown ? " (" + advice(entry) + ")" : ""));
    return joined(names, ", ", kShownUnknown);
  }

  std::string advice(const ConfigEntry& entry) const {
    const std::string line = "line " + std::to_string(entry.line);
    const std::string near = nearest_option(command_, entry.name);
    if (near.starts_with("no-")) return line + "; write " + near.substr(3) + " = false";
    return line + (near.empty() ? "" : "; did you mean " + near + "?");
  }

  void check_group(const ConfigEntry& entry) const {
    if (entry.group.empty()) return;
    std::vector<std::string> groups;
    for (const Option& option : options()) groups.push_back(group_name(option.group));
    const std::string wanted = with_dashes(entry.group);
    if (std::find(groups.begin(), groups.end(), wanted) != groups.end()) return;
    const std::string near = nearest(wanted, groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    throw UserError(
        place(entry) + ": unknown group " + entry.group + "; " +
        (near.empty() ? "the groups are " + joined(groups) : "did you mean " + near + "?"));
  }

  // Throws UserError if the file gives one option twice.
  void check_once(const ConfigEntry& entry, const Option* option) {
    const std::string name = option ? option->name : with_dashes(entry.name);
    const auto [first, is_first] = lines_.emplace(name, entry.line);
    if (!is_first)
      throw UserError(place(entry) + ": " + entry.name + " is given twice, also in line " +
                      std::to_string(first->second) + "; remove one");
  }

  Command command_;
  const std::string& path_;
  ConfigFile result_;
  std::vector<ConfigEntry> unknown_;
  std::vector<std::string> of_others_;
  std::map<std::string, int> lines_;  // option → its line
};

// Returns the entry as shoal's options and their values.
Pairs in_our_words(const Setting& entry, Command command) {
  if (!decoded(entry.value)) return {};
  if (const Option* option = find_option(command, entry.name)) return {{option->name, entry.value}};
  std::vector<std::string> ineffective;
  const ForeignOption* const foreign = find_foreign(entry.name);
  return foreign ? translate(*foreign, entry.value, ineffective) : Pairs{};
}

// Returns the value as option.get() spells it, for comparison: "true" for "yes".
std::string usual(const Option& option, const std::string& value, Command command) {
  Arguments scratch;
  scratch.command = command;
  apply(scratch, option.name, value, "");
  return option.get(scratch);
}

}  // namespace

std::string group_name(const std::string& heading) {
  std::string name = lower(heading.substr(0, heading.find_first_of(",(")));
  while (name.ends_with(' ')) name.pop_back();
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

ConfigFile read_config(Command command, const std::string& path, const Files& files) {
  std::vector<ConfigEntry> entries = parse_entries(path, files);
  std::vector<std::string> ignored;
  if (is_timm_args(entries)) entries = kept_timm_args(entries, ignored);
  Matcher matcher(command, path);
  for (const ConfigEntry& entry : entries) matcher.add(entry);
  ConfigFile file = std::move(matcher).result();
  if (!ignored.empty())
    file.notes.push_back(path + ": ignored, because shoal has no such setting: " + joined(ignored));
  return file;
}

std::string overridden_entries(const std::vector<Setting>& entries, const Arguments& arguments) {
  std::vector<std::string> clauses;
  for (const Setting& entry : entries) {
    for (const auto& [name, given] : in_our_words(entry, arguments.command)) {
      const auto origin = arguments.origins.find(name);
      if (origin == arguments.origins.end()) continue;
      if (origin->second.starts_with(arguments.config)) continue;  // the value is from the file
      const Option& option = require_option(arguments.command, name, entry.origin);
      const std::string value = option.get(arguments);
      if (usual(option, given, arguments.command) == value) continue;
      clauses.push_back(entry.origin + " gives " + name + " " + given + ", but " +
                        (value.empty() ? "none" : value) + " (" + origin->second +
                        ") takes precedence");
    }
  }
  return joined(clauses, "; ");
}

}  // namespace shoal::app
