#pragma once
// Reads /proc.

#include <filesystem>
#include <string>

namespace shoal {

// Returns VALUE of the first line "KEY… : VALUE" of a file such as /proc/cpuinfo, or an empty
// string.
std::string proc_value(const std::filesystem::path& file, const std::string& key);

// Returns the folder of the running program. Throws std::filesystem::filesystem_error if /proc is
// not mounted.
std::filesystem::path program_folder();

}  // namespace shoal
