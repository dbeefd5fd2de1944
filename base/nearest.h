#pragma once
// What somebody meant who wrote a name that does not exist.

#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// The known name that somebody who wrote `name` plausibly meant, or empty: a slip of the fingers in
// a word, a part of the known name, or the known name with a word that adds nothing (data-path).
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace shoal
