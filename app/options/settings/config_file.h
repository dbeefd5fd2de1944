#pragma once
// Reads the platform's configuration files, each a JSON object.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace shoal::app {

// Parses `text`, the content of the file `path` or the value of the variable `path`. Throws UserError
// if it is no JSON object or has a duplicate name.
nlohmann::json parse_config(const std::string& path, const std::string& text);

}  // namespace shoal::app
