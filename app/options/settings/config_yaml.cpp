#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

#include "app/options/settings/config_entries.h"
#include "base/error.h"
#include "base/json.h"

namespace shoal::app {
namespace {

using Json = nlohmann::json;

// Counts the documents of a file.
class Documents final : public YAML::EventHandler {
 public:
  size_t count = 0;
  YAML::Mark last;  // start of the last one

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count;
    last = mark;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Throws YAML::Exception for text in which the parser finds one document after another without
// advancing, such as ",". YAML::LoadAll() would fill the memory with them.
void require_end(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Documents documents;
  while (parser.HandleNextDocument(documents))
    if (documents.count > text.size() + 1)
      throw YAML::ParserException(documents.last, "unexpected character");
}

class YamlReader {
 public:
  // `bytes`: size of the file.
  YamlReader(const std::string& path, const IsMapping& is_mapping, size_t bytes)
      : path_(path), is_mapping_(is_mapping), left_(bytes + kMostFromAliases) {}

  std::vector<ConfigEntry> read(const YAML::Node& root) {
    if (root.IsNull()) return {};  // an empty file
    if (!root.IsMap()) fail(root, "the file must contain lines `NAME: VALUE`");
    for (const auto& entry : root) {
      const YAML::Node &key = entry.first, &value = entry.second;
      const std::string name = name_of(key);
      if (!value.IsMap() || value.size() == 0 || is_mapping_(name)) {
        add("", name, key, value);
        continue;
      }
      for (const auto& inner : value) add(name, name_of(inner.first), inner.first, inner.second);
    }
    return std::move(entries_);
  }

 private:
  static int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

  std::string name_of(const YAML::Node& key) const {
    if (!key.IsScalar()) fail(key, "a name must be a string");
    return key.Scalar();
  }

  void add(const std::string& group, const std::string& name, const YAML::Node& key,
           const YAML::Node& node) {
    const Json json = json_of(name, node, 0);
    try {
      const std::string value = json.is_string() ? json.get<std::string>() : json.dump();
      entries_.push_back({group, name, value, line_of(key)});
    } catch (const Json::type_error&) {
      fail(node, name + " contains text that is not UTF-8");
    }
  }

  // Keeps scalars as text for the option to parse, because YAML has no types without a schema.
  Json json_of(const std::string& name, const YAML::Node& node, int level) {
    if (level > kMostValueLevels) fail(node, name + " nests too deep");
    const size_t bytes = 1 + (node.IsScalar() ? node.Scalar().size() : 0);
    if (bytes > left_) fail(node, name + " repeats too much with aliases (*NAME)");
    left_ -= bytes;
    if (node.IsNull()) return {};
    if (node.IsScalar()) return node.Scalar();
    Json json = node.IsMap() ? Json::object() : Json::array();
    if (node.IsMap())
      for (const auto& entry : node)
        json[name_of(entry.first)] = json_of(name, entry.second, level + 1);
    else
      for (const YAML::Node& item : node) json.push_back(json_of(name, item, level + 1));
    return json;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    throw UserError(path_ + ":" + std::to_string(line_of(node)) + ": " + what);
  }

  // Number of bytes by which aliases may make the values longer than the file. Otherwise, a few
  // lines of nested aliases could fill the memory.
  static constexpr size_t kMostFromAliases = 1 << 20;

  const std::string& path_;
  const IsMapping& is_mapping_;
  size_t left_;  // bytes that further values may have
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::vector<ConfigEntry> parse_yaml(const std::string& path, const std::string& text,
                                    const IsMapping& is_mapping) {
  try {
    require_end(text);
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    std::erase_if(documents, [](const YAML::Node& one) { return one.IsNull(); });
    if (documents.size() > 1)
      throw UserError(path + " contains several YAML documents; keep only one");
    return YamlReader(path, is_mapping, text.size())
        .read(documents.empty() ? YAML::Node() : documents[0]);
  } catch (const YAML::Exception& error) {
    throw UserError(path + ":" + std::to_string(error.mark.line + 1) +
                    ": not valid YAML: " + error.msg);
  }
}

}  // namespace shoal::app
