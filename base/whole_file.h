#pragma once
// Files that are whole or absent. Torch-free.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace shoal {

// Writes aside in the same folder, then renames: a file of this name is always a whole one. Throws
// std::runtime_error with the path; `advice` ends its sentence ("is the disk full?").
void write_whole(const std::filesystem::path& path, const std::string& advice,
                 const std::function<void(std::ofstream&)>& write);

}  // namespace shoal
