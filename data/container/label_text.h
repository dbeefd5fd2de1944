#pragma once
// Parses labels that are stored as text beside their images.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/container/scan.h"

namespace shoal::data {

struct LabelText {
  int64_t number = kNoNumber;  // the label if it is a number (0 or more), else kNoNumber
  std::string text;            // the label if it is a name, else empty
  bool operator==(const LabelText&) const = default;
};

// Parses a number or a one-line name, ignoring white space around it. Returns nothing for an empty
// text, several lines, more than 200 bytes, and a number that is negative or above 2^31 - 1.
std::optional<LabelText> parse_label(std::string_view text);

// Like parse_label(), for JSON: a number, a string, or an object that contains one of them. In an
// object, uses the first of these members that exists: `label`, `cls`, `class`, `target`,
// `class_name`.
std::optional<LabelText> parse_json_label(std::string_view json);

// Sets the label of `entry`. If the label is a name, also adds the name to `scan`.
void set_label(const LabelText& label, Scan& scan, ScanEntry& entry);

}  // namespace shoal::data
