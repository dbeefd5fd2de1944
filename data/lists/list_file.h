#pragma once
// Files that list images.

#include <string>
#include <string_view>

namespace shoal::data {

inline constexpr std::string_view kFileUrl = "file://";  // may precede an absolute path

// Returns the text of a list. Throws std::invalid_argument if it is larger than 1 GiB,
// std::runtime_error for system errors.
std::string read_list(const std::string& path);

// Returns the path of the list's folder with a slash at its end; "" for the working directory.
std::string folder_of_list(const std::string& path);

}  // namespace shoal::data
