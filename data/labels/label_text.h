#pragma once
// Labels that stand in texts beside their images.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/sources/scan.h"

namespace shoal::data {

struct LabelText {
  int64_t number = kNoNumber;  // from 0 on, when the text is one
  std::string text;            // else: a class's name
  bool operator==(const LabelText&) const = default;
};

// A number or a name of one line; blanks around it do not count. Nothing: it is neither (empty,
// several lines, longer than 200 bytes, below 0).
std::optional<LabelText> parse_label(std::string_view text);

// The same from JSON: a number or a text, or an object that has one under `label`, `cls`, `class`,
// `target` or `class_name`, looked for in this order.
std::optional<LabelText> parse_json_label(std::string_view json);

// Puts it into `entry`, a text by way of `scan`.
void set_label(const LabelText& label, Scan& scan, ScanEntry& entry);

}  // namespace shoal::data
