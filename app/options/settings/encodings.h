#pragma once
// Decodes option values as SDKs, toolkits, YAML and JSON encode them. Torch-free.
//
// A value may be a JSON value, its text, or that text encoded once more as JSON ("\"64\""), in
// Python's spelling (True, None) or JSON's. Integers may have become floats: the options accept 64.0.

#include <optional>
#include <string>

#include "app/options/options.h"

namespace shoal::app {

// Removes any number of JSON quotations: "\"sgd\"" → sgd. Returns nothing for null and None, which
// leave the option unchanged.
std::optional<std::string> decoded(const std::string& text);

// Converts a JSON list or object to the text form of a list option. The first character of `spelling`
// separates items, the optional second one the two parts of an item: ",:" turns [[65, 160], [76, 192]]
// and {"65": 160, "76": 192} into 65:160,76:192. Returns any other text unchanged. Throws
// std::invalid_argument, with what the value must be, if it does not fit `spelling`.
std::string joined_list(const std::string& text, const std::string& spelling);

// Converts a decoded value to one that `option` accepts: its bare value for true or an empty text, its
// `off` for false, no, off and none, a list in its spelling; else the text. Throws like joined_list.
std::string in_words_of(const Option& option, const std::string& text);

}  // namespace shoal::app
