#pragma once
// Patterns that name several files, such as shard-{000000..000012}.tar or {train,extra}-*.tar.

#include <string>
#include <vector>

namespace shoal::data {

// Whether `text` has braces or wildcards and no file or folder has this exact name.
bool is_pattern(const std::string& text);

// Expands a pattern to file paths. First expands braces: {A..B} to the numbers from A to B (padded
// with zeros to the length of A if A starts with a zero), {a,b} to the alternatives. Then * ? [ ]
// match existing files, sorted. Throws std::invalid_argument if a file named by braces does not
// exist, nothing matches, the braces are malformed or name more than a million files, or braces and
// wildcards together need more than 10,000 searches. Throws std::runtime_error if a folder cannot
// be searched.
std::vector<std::string> expand_pattern(const std::string& pattern);

// Whether any file matches the pattern. Supports wildcards only, no braces.
bool matches_files(const std::string& pattern);

// Returns the paths of the regular files in a folder, sorted. Skips names that start with a dot.
// Throws std::runtime_error.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace shoal::data
