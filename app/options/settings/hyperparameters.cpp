#include "app/options/settings/hyperparameters.h"

#include <algorithm>
#include <set>

#include "app/options/foreign/foreign_options.h"
#include "app/options/settings/encodings.h"
#include "app/platform/platform.h"
#include "app/platform/platform_json.h"
#include "base/json.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr std::string_view kVariable = "SM_HP_";

// Whether the name belongs to an SDK, a launcher or a tuning job instead of shoal.
bool is_for_other_tools(const std::string& name) {
  for (const char* prefix : {"sagemaker_", "SSM_", "ssm_"}) {
    if (name.starts_with(prefix)) return true;
  }
  for (const char* whole : {"model_dir", "_tuning_objective_metric", "default_user_module_name"}) {
    if (name == whole) return true;
  }
  return false;
}

class Collector {
 public:
  void add(const std::string& name, const std::optional<std::string>& value,
           const std::string& origin) {
    if (is_for_other_tools(name)) {
      other_tools_.insert(name);
    } else if (!find_option(Command::train, name) && !find_foreign(name)) {
      unknown_.insert(name);
    } else if (value) {
      check_once(name, *value, origin);
      known_.push_back({name, *value, origin});
    } else {
      empty_.insert(name);
    }
  }

  void add_all(const nlohmann::json& object, const std::string& origin) {
    for (const auto& [name, value] : object.items()) {
      if (value.is_null()) {
        add(name, std::nullopt, origin);
      } else {
        add(name, decoded(value.is_string() ? value.get<std::string>() : value.dump()), origin);
      }
    }
  }

  Hyperparameters result() && {
    return {std::move(known_),
            {other_tools_.begin(), other_tools_.end()},
            {unknown_.begin(), unknown_.end()},
            {empty_.begin(), empty_.end()}};
  }

 private:
  // Throws UserError if one source gives an option two different values, under two spellings such
  // as batch-size and batch_size.
  void check_once(const std::string& name, const std::string& value, const std::string& origin) {
    const Option* option = find_option(Command::train, name);
    for (const Setting& other : known_) {
      const bool apart = source_of(other.origin) != source_of(origin);
      if (!option || apart || other.value == value) continue;
      if (find_option(Command::train, other.name) == option)
        throw UserError(origin + " gives --" + option->name + " twice, " + other.name + " " +
                        other.value + " and " + name + " " + value + "; leave one out");
    }
  }

  std::vector<Setting> known_;
  std::set<std::string> other_tools_, unknown_, empty_;
};

}  // namespace

Hyperparameters hyperparameters(const dist::Variables& environment, const Files& files) {
  Collector all;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kVariable) || name.size() == kVariable.size()) continue;
    std::string key = lower(name.substr(kVariable.size()));
    if (key.starts_with("ssm_")) key = name.substr(kVariable.size());  // keeps upper case
    all.add(key, decoded(value), name);
  }
  if (const std::string typed = dist::value_of(environment, "SM_HPS"); !typed.empty())
    all.add_all(parse_platform_json("SM_HPS", typed), "SM_HPS");
  const std::string path = platform_base(environment) / "input/config/hyperparameters.json";
  if (const auto text = files.read(path))
    all.add_all(parse_platform_json(path, *text), "hyperparameters.json");
  return std::move(all).result();
}

std::string unknown_hyperparameters(const Hyperparameters& all, bool with_ignored) {
  std::vector<std::string> unknown, clauses;
  for (const std::string& name : all.unknown) {
    const std::string near = nearest_option(Command::train, name);
    unknown.push_back(name + (near.empty() ? "" : " (did you mean " + near + "?)"));
  }
  if (!unknown.empty()) clauses.push_back("unknown hyperparameters: " + joined(unknown));
  if (with_ignored && !all.other_tools.empty())
    clauses.push_back("hyperparameters for other tools: " + joined(all.other_tools));
  if (with_ignored && !all.empty.empty())
    clauses.push_back("hyperparameters without a value (ignored): " + joined(all.empty));
  return joined(clauses, "; ");
}

}  // namespace shoal::app
