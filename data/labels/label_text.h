#pragma once
// Parses labels that are stored as text beside their images.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/sources/scan.h"

namespace shoal::data {

struct LabelText {
  int64_t number = kNoNumber;  // 0 or more if the text is a number
  std::string text;            // else the name of a class
  bool operator==(const LabelText&) const = default;
};

// Parses a number or a one-line name; ignores blanks around it. Returns nothing for other texts:
// empty, several lines, longer than 200 bytes, or below 0.
std::optional<LabelText> parse_label(std::string_view text);

// The same for JSON: a number or a string, or an object with one in `label`, `cls`, `class`,
// `target` or `class_name`, the first of these that exists.
std::optional<LabelText> parse_json_label(std::string_view json);

// Stores the label in `entry`; `scan` keeps the names of classes.
void set_label(const LabelText& label, Scan& scan, ScanEntry& entry);

}  // namespace shoal::data
