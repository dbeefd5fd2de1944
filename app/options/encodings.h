#pragma once
// What SDKs, toolkits, YAML and JSON make of an option's value, and what it was before. Torch-free.
//
// A value arrives as a JSON value, as its text, or as the JSON text of that text ("\"64\""), with
// Python's spellings (True, None) or JSON's. Numbers may have become floats: 64.0 is taken for a
// whole number by the options themselves.

#include <optional>
#include <string>

#include "app/options/options.h"

namespace shoal::app {

// `text` without the quotes that encoders put around it, however often: "\"sgd\"" → sgd. Nothing
// for null and None: whoever gives these leaves the option as it is.
std::optional<std::string> decoded(const std::string& text);

// The items of a JSON list or object in one text: `spelling` is what stands between two items and,
// if it has a second character, between the two parts of an item, so ",:" makes 65:160,76:192 of
// [[65, 160], [76, 192]] and of {"65": 160, "76": 192}. Any other text as it is. Throws
// std::invalid_argument with what the value must be when it does not fit `spelling`.
std::string joined_list(const std::string& text, const std::string& spelling);

// What the decoded `text` is in the words of `option`: the bare value for true or an empty text, its
// `off` for false, no, off and none, a list in its spelling; else the text. Throws like joined_list.
std::string in_words_of(const Option& option, const std::string& text);

}  // namespace shoal::app
