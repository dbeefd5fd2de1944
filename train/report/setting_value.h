#pragma once
// Converts settings to JSON. Does not use LibTorch.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace shoal::train {

// Converts the text of a setting to JSON: a number, true, false, or the text itself.
nlohmann::ordered_json setting_value(const std::string& text);

}  // namespace shoal::train
