#pragma once
// Small questions about text.

#include <string_view>

namespace shoal::app {

// Whether the bytes are well-formed UTF-8 (no over-long forms, no surrogates).
bool is_utf8(std::string_view text);

}  // namespace shoal::app
