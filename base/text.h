#pragma once
// Text: formatting, wrapping and UTF-8.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace shoal {

// Formats like printf: strf("%.3f", x). Use %ld for an int64_t. shoal needs strf() because
// libstdc++ 12 has no <format>, and files that include LibTorch must not include fmt.
static_assert(std::is_same_v<int64_t, long>);
[[gnu::format(printf, 1, 2)]] std::string strf(const char* format, ...);

// Returns `value` as 16 hexadecimal digits.
std::string hex(uint64_t value);

// Returns the shortest text that reads back as the same number.
std::string number(double value);

// Parses the whole of `text` as a decimal number. Returns nothing for other texts, including texts
// with blanks or a leading +, and for numbers that T cannot hold. For a floating-point T, also
// accepts inf and nan.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}
// Like parse_number<int64_t>(), but returns nothing for negative numbers.
std::optional<int64_t> parse_whole_number(std::string_view text);

// Joins the texts with `separator`. After the first `most` texts, appends only the number of the
// others: "a, b, c and 9 more".
std::string joined(const std::vector<std::string>& texts, std::string_view separator = ", ",
                   size_t most = SIZE_MAX);

// Splits `text` at each separator. Like std::getline(), returns no empty part after a separator at
// the end.
std::vector<std::string> split(const std::string& text, char separator);

// Wraps `entries` into lines of at most `width` characters (UTF-8), with `gap` blanks between
// entries. The first line starts with `heading`, then blanks (at least one) up to column `indent`.
// Other lines start with `indent` blanks. Only a line with a single entry can be longer than
// `width`.
std::string wrapped(const std::string& heading, const std::vector<std::string>& entries,
                    size_t indent, size_t width = 80, size_t gap = 2);

// Whether the bytes are well-formed UTF-8 (no over-long forms, no surrogates).
bool is_utf8(std::string_view text);
// Returns the length of the byte order mark at the beginning of a UTF-8 text: 3, or 0 if it has
// none.
size_t byte_order_mark(std::string_view text);
// Whether a UTF-8 character starts with this byte.
inline bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}
// Returns the number of UTF-8 characters in `text`.
size_t character_count(std::string_view text);
// Returns `text` as one line that is safe to print. Control characters, line separators, marks that
// change the direction of text, and bytes that are not UTF-8 are replaced with escapes such as \n,
// \t, \x1b or \u202e.
std::string printable(std::string_view text);
// Return `text` with its ASCII letters in lower or upper case.
std::string lower(std::string text);
std::string upper(std::string text);

}  // namespace shoal
