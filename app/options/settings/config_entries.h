#pragma once
// The entries of a settings file, before they are matched with options. Does not use LibTorch.

#include <functional>
#include <string>
#include <vector>

namespace shoal::app {

struct ConfigEntry {
  std::string group;  // the table or mapping that contains the entry; empty: none
  std::string name;   // as written
  std::string value;  // text as on the command line; lists and mappings as JSON; "null": no value
  int line = 0;       // line number, from 1; 0: not from the file
};

// Whether a mapping under this top-level name is an option's value, and not a group of entries.
using IsMapping = std::function<bool(const std::string& name)>;

// Parse `text` as TOML or YAML. `path`: the file, for messages. Throw UserError with path and line
// if the text is not valid, if a value contains a date or time (TOML), or if a value nests deeper
// than kMostValueLevels.
std::vector<ConfigEntry> parse_toml(const std::string& path, const std::string& text,
                                    const IsMapping& is_mapping);
std::vector<ConfigEntry> parse_yaml(const std::string& path, const std::string& text,
                                    const IsMapping& is_mapping);

// Maximum nesting depth of lists and mappings in a value.
inline constexpr int kMostValueLevels = 3;

}  // namespace shoal::app
