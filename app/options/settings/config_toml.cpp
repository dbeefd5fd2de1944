#define TOML_ENABLE_FORMATTERS 0
// toml++ asserts some properties of valid files before it checks them. With NDEBUG, the assertions
// become compiler assumptions, so a damaged file causes undefined behavior. Without NDEBUG, they
// become TOML_ASSERT, which does nothing here, and toml++ reports the error.
#define TOML_ASSERT(condition) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>

#include "app/options/settings/config_entries.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace shoal::app {
namespace {

using Json = nlohmann::json;

class TomlReader {
 public:
  TomlReader(const std::string& path, const IsMapping& is_mapping)
      : path_(path), is_mapping_(is_mapping) {}

  std::vector<ConfigEntry> read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      const toml::table* const table = node.as_table();
      if (!table || is_mapping_(name)) {
        add("", name, node);
        continue;
      }
      for (const auto& [inner, value] : *table) add(name, std::string(inner.str()), value);
    }
    // The parser sorts by name. This restores the order of the file.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
    return std::move(entries_);
  }

 private:
  void add(const std::string& group, const std::string& name, const toml::node& node) {
    const Json json = json_of(name, node, 0);
    const std::string text = json.is_string()           ? json.get<std::string>()
                             : node.is_floating_point() ? number(json.get<double>())
                                                        : json.dump();
    entries_.push_back({group, name, text, static_cast<int>(node.source().begin.line)});
  }

  Json json_of(const std::string& name, const toml::node& node, int level) const {
    if (level > kMostValueLevels) fail(name, node, "nests too deep");
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return whole->get();
    if (const auto* real = node.as_floating_point()) return real->get();
    if (const auto* flag = node.as_boolean()) return flag->get();
    Json json;
    if (const toml::array* list = node.as_array()) {
      json = Json::array();
      for (const toml::node& item : *list) json.push_back(json_of(name, item, level + 1));
    } else if (const toml::table* table = node.as_table()) {
      json = Json::object();
      for (const auto& [key, value] : *table)
        json[std::string(key.str())] = json_of(name, value, level + 1);
    } else {
      fail(name, node, "is a date or a time, which no option takes");
    }
    return json;
  }

  [[noreturn]] void fail(const std::string& name, const toml::node& node,
                         const std::string& what) const {
    throw UserError(path_ + ":" + std::to_string(node.source().begin.line) + ": " + name + " " +
                    what);
  }

  const std::string& path_;
  const IsMapping& is_mapping_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::vector<ConfigEntry> parse_toml(const std::string& path, const std::string& text,
                                    const IsMapping& is_mapping) {
  try {
    const toml::table root = toml::parse(text, path);
    return TomlReader(path, is_mapping).read(root);
  } catch (const toml::parse_error& error) {
    throw UserError(path + ":" + std::to_string(error.source().begin.line) +
                    ": not valid TOML: " + std::string(error.description()));
  }
}

}  // namespace shoal::app
