#pragma once
// Parses labels that are stored as text beside their images.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/container/scan.h"

namespace shoal::data {

struct LabelText {
  int64_t number = kNoNumber;  // 0 or more if the label is a number
  std::string text;            // name of the class if the label is not a number
  bool operator==(const LabelText&) const = default;
};

// Parses a number or a one-line name; ignores blanks around it. Returns nothing for other texts: an
// empty text, several lines, more than 200 bytes, a number that is negative or above 2^31 - 1.
std::optional<LabelText> parse_label(std::string_view text);

// Like parse_label(), for JSON: a number, a string, or an object that contains one of them. In an
// object, uses the first member that exists of `label`, `cls`, `class`, `target` and `class_name`.
std::optional<LabelText> parse_json_label(std::string_view json);

// Stores the label in `entry`. If the label is a name, stores the name in `scan`.
void set_label(const LabelText& label, Scan& scan, ScanEntry& entry);

}  // namespace shoal::data
