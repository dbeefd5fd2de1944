#pragma once
// Functions that return changed copies of environment variables.

#include <string>

#include "dist/env/env.h"

namespace shoal::dist {

inline Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

inline Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

inline Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace shoal::dist
