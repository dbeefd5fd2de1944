#pragma once
// Decodes option values as SageMaker's SDKs and toolkits, YAML and JSON encode them. Does not use
// LibTorch.
//
// A value may be plain text (64), a JSON string ("64"), or a JSON string encoded again ("\"64\"").
// It may use the constants of Python (True, None) or of JSON (true, null). Options also accept
// whole numbers written as floats (64.0).

#include <optional>
#include <string>

#include "app/options/options.h"

namespace shoal::app {

// Removes all levels of JSON quotes: "\"sgd\"" → sgd. Returns nothing for null and None, which
// leave the option unchanged.
std::optional<std::string> decoded(const std::string& text);

// Converts a JSON list or object to the text form of a list option. The first character of
// `spelling` separates items; the optional second one separates the two parts of an item. For
// example, ",:" turns [[65, 160], [76, 192]] and {"65": 160, "76": 192} into 65:160,76:192. Returns
// any other text unchanged. Throws std::invalid_argument with the expected form if the list does
// not fit `spelling`.
std::string joined_list(const std::string& text, const std::string& spelling);

// Converts a decoded value to text that `option` accepts:
//   true, yes, on, ""      option.bare, if the value is optional
//   false, no, off, none   option.off, if the option has one
//   a JSON list or object  the option's list form, as joined_list() does
// Returns any other text, and the value of a flag, unchanged. Throws like joined_list().
std::string in_words_of(const Option& option, const std::string& text);

}  // namespace shoal::app
