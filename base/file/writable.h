#pragma once
// Checks whether a command can write its results. Commands call this before they start the work.

#include <filesystem>
#include <string>

namespace shoal {

// Throws UserError that names `option` if files cannot be written to the folder `path`, because it
// cannot be created, is a file, or is not writable. Creates nothing.
void require_writable_folder(const std::string& option, const std::filesystem::path& path);

// Throws UserError that names `option` if the file `path` cannot be written, because it is a
// folder, or because its folder does not exist or is not writable.
void require_writable_file(const std::string& option, const std::filesystem::path& path);

}  // namespace shoal
