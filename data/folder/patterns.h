#pragma once
// Patterns that name several files: shard-{000000..000012}.tar, {train,extra}-*.tar.

#include <string>
#include <vector>

namespace shoal::data {

// True if `text` has braces or wildcards and no file or folder has this name.
bool is_pattern(const std::string& text);

// Expands a pattern to file paths: {A..B} counts (padded to the digits of A if A starts with a
// zero), {a,b} lists alternatives, then * ? [ ] match existing files, sorted. Throws
// std::invalid_argument if a file named by braces does not exist, nothing matches, or the braces
// are malformed.
std::vector<std::string> expand_pattern(const std::string& pattern);

// True if a file matches. Wildcards only, no braces.
bool matches_files(const std::string& pattern);

// Returns the sorted paths of the regular files in a folder whose names do not start with a dot.
// Throws std::runtime_error.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace shoal::data
