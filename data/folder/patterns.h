#pragma once
// Patterns that name several files, such as shard-{000000..000012}.tar or {train,extra}-*.tar. The
// longest existing folder at the start of a pattern is taken literally, even if its name has braces
// or wildcards.

#include <string>
#include <vector>

namespace shoal::data {

// Whether `text` has braces or wildcards and is not the path of an existing file or folder.
bool is_pattern(const std::string& text);

// Expands the pattern `text` to the paths of existing files. First expands braces, in order: {a,b}
// to a and b, {A..B} to the numbers from A to B. If A starts with a zero, pads the numbers with
// zeros to the length of A. Then replaces each result that has wildcards * ? [ ] with its sorted
// matches. Throws std::invalid_argument if an expansion without wildcards does not exist, if
// nothing matches, if braces are malformed or name more than a million files, or if more than
// 10,000 expansions have wildcards. Throws std::runtime_error if a folder cannot be searched.
std::vector<std::string> expand_pattern(const std::string& text);

// Whether any file matches the pattern `text`. Expands wildcards but not braces. Throws
// std::runtime_error if a folder cannot be searched.
bool matches_files(const std::string& text);

// Returns the sorted paths of the regular files in a folder. Skips names that start with a dot.
// Throws std::runtime_error if the folder cannot be read.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace shoal::data
