#include "app/options/foreign_options.h"

#include <algorithm>

#include "app/options/encodings.h"
#include "app/options/option_row.h"

namespace shoal::app {

const ForeignOption* find_foreign(std::string_view name) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  for (const ForeignOption& option : foreign_options()) {
    if (option.name == wanted) return &option;
  }
  return nullptr;
}

Pairs translate(const ForeignOption& option, const std::string& encoded,
                std::vector<std::string>& ineffective) {
  const std::optional<std::string> plain = decoded(encoded);
  if (!plain) return {};
  const std::string value = joined_list(*plain, ",");
  const std::string written = (option.name.size() == 1 ? "-" : "--") + option.name;
  if (option.kind == Kind::flag) {
    try {
      if (!parse_flag(value)) return {};
    } catch (const std::invalid_argument& error) {
      throw UserError(written + " is '" + value + "'; it must be " + error.what());
    }
  }
  if (option.translate) return option.translate(value);
  if (!option.ours.empty()) return {{option.ours, option.kind == Kind::flag ? "true" : value}};
  const std::string line = written + " has no effect: " + option.meaning;
  if (std::find(ineffective.begin(), ineffective.end(), line) == ineffective.end())
    ineffective.push_back(line);
  return {};
}

std::string defaults_of(const ForeignOption& option) {
  for (const char* name : {"lr-init", "max-epochs", "train-batch-size"}) {
    if (option.name == name) return "smddp_efficientnet";
  }
  return "";
}

}  // namespace shoal::app
