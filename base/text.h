#pragma once
// Text: formatting, wrapping, UTF-8.

#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// printf into a string: strf("%.3f", x). There is no <format> in libstdc++ 12, and fmt may not meet
// torch in a file.
[[gnu::format(printf, 1, 2)]] std::string strf(const char* format, ...);

// `heading` in a column of `indent` characters, then `entries` with two blanks between them. Lines
// have `width` characters at most, unless one entry is longer; further lines are indented alike.
// Counts bytes.
std::string wrapped(const std::string& heading, const std::vector<std::string>& entries,
                    size_t indent, size_t width = 80);

// The shortest decimal text that reads back as the same number.
std::string number(double value);

// Whether the bytes are well-formed UTF-8 (no over-long forms, no surrogates).
bool is_utf8(std::string_view text);
// With ASCII letters made small.
std::string lower(std::string text);

}  // namespace shoal
