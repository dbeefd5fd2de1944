#pragma once
// Names of several files in one: shard-{000000..000012}.tar, {train,extra}-*.tar.

#include <string>
#include <vector>

namespace shoal::data {

// True when `text` has braces or wildcards and is not itself the name of something.
bool is_pattern(const std::string& text);

// The files a pattern stands for: {A..B} counts (with as many digits as A has when it begins with a
// zero), {a,b} takes each, then * ? [ ] match what is there, sorted. Throws std::invalid_argument
// when a file that the braces name is not there, nothing matches, or the braces make no sense.
std::vector<std::string> expand_pattern(const std::string& pattern);

// True when there is such a file; wildcards only.
bool matches_files(const std::string& pattern);

// The regular files of a folder whose names do not begin with a dot, sorted; paths. Throws
// std::runtime_error.
std::vector<std::string> files_in(const std::string& folder);

}  // namespace shoal::data
