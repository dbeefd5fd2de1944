#pragma once
// The platform's configuration files: one JSON object each.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace shoal::app {

// The object in `text`, the content of the file at `path` (or the value of the variable `path`).
// Throws UserError naming it when it is none, or has a name twice.
nlohmann::json parse_config(const std::string& path, const std::string& text);

}  // namespace shoal::app
