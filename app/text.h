#pragma once
// Small matters of text.

#include <string>
#include <string_view>

namespace shoal::app {

// Whether the bytes are well-formed UTF-8 (no over-long forms, no surrogates).
bool is_utf8(std::string_view text);
// With ASCII letters made small.
std::string lower(std::string text);

}  // namespace shoal::app
