#pragma once
// Text: formatting, wrapping and UTF-8.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace shoal {

// Returns text formatted like printf: strf("%.3f", x). shoal uses it because libstdc++ 12 has no
// <format>, and files that include LibTorch must not include fmt.
[[gnu::format(printf, 1, 2)]] std::string strf(const char* format, ...);

// Returns `value` as 16 hexadecimal digits.
std::string hex(uint64_t value);

// Returns the shortest text that reads back as the same number.
std::string number(double value);

// Returns the number whose text is all of `text`; nothing for other text and for numbers that T
// cannot hold. Accepts neither blanks nor a leading +. A floating-point number may be inf or nan.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}
// Returns the number >= 0 whose decimal digits are `text`; nothing for other text.
std::optional<int64_t> parse_whole_number(std::string_view text);

// Returns the texts with `separator` between them. If there are more than `most`, counts the
// others: "a, b, c and 9 more".
std::string joined(const std::vector<std::string>& texts, std::string_view separator = ", ",
                   size_t most = SIZE_MAX);

// Returns the parts of `text` between separators. Like std::getline(), adds no empty part after a
// separator at the end.
std::vector<std::string> split(const std::string& text, char separator);

// Returns `heading`, padded to `indent` characters, then `entries` with `gap` blanks between them.
// Lines have at most `width` characters (UTF-8), unless a single entry is longer. Further lines are
// indented by `indent` blanks.
std::string wrapped(const std::string& heading, const std::vector<std::string>& entries,
                    size_t indent, size_t width = 80, size_t gap = 2);

// Whether the bytes are well-formed UTF-8 (no over-long forms, no surrogates).
bool is_utf8(std::string_view text);
// Whether a UTF-8 character starts with this byte.
inline bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}
// Returns `text` as one line that is safe to print. Control characters, line separators, marks that
// change the direction of text, and bytes that are not UTF-8 are replaced with escapes such as \n,
// \t, \x1b or \u202e.
std::string printable(std::string_view text);
// Returns `text` with its ASCII letters in lower case.
std::string lower(std::string text);
std::string upper(std::string text);  // the same, but in upper case

}  // namespace shoal
