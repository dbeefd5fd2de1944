#pragma once
// Reads /proc.

#include <filesystem>
#include <string>

namespace shoal {

// Returns the text after the colon and one blank of the first line that starts with `key`, for
// example in /proc/cpuinfo. Returns an empty string if there is no such line.
std::string proc_value(const std::filesystem::path& file, const std::string& key);

// Returns the folder of the running program. Throws std::filesystem::filesystem_error if /proc is
// not mounted.
std::filesystem::path program_folder();

}  // namespace shoal
