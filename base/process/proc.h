#pragma once
// Reads /proc and similar files of the system.

#include <filesystem>
#include <string>

namespace shoal {

// Finds the first line that starts with `key` and has text after a colon, for example in
// /proc/cpuinfo. Returns this text without its first character (a blank or tab); empty if there is
// no such line.
std::string proc_value(const std::filesystem::path& file, const std::string& key);

// Returns the number at the start of proc_value(file, key); -1 if there is none.
double proc_number(const std::filesystem::path& file, const std::string& key);

// Returns the first line of a file; empty if it cannot be read.
std::string first_line(const std::filesystem::path& file);

// Returns the folder of the running program. Throws std::filesystem::filesystem_error if /proc is
// not mounted.
std::filesystem::path program_folder();

}  // namespace shoal
