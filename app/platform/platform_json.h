#pragma once
// Reads SageMaker's configuration files, each a JSON object.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace shoal::app {

// Parses a JSON object. `path`: the file or environment variable that contains `text`, for
// messages. Throws UserError if `text` is not a JSON object, nests too deep, or has the same name
// twice in the outermost object.
nlohmann::json parse_platform_json(const std::string& path, const std::string& text);

}  // namespace shoal::app
