#pragma once
// Lists folders. data/folder/listing.cpp does not use it, because it also needs the entries' types
// and the folder's time from the same descriptor.

#include <filesystem>
#include <system_error>
#include <vector>

namespace shoal {

// Returns the entries of a folder, hidden ones too, in the file system's order. Throws
// std::system_error that names the folder. Range-based loops over std::filesystem's iterators
// instead throw errors without the folder's name, and do so even if they were given an error_code.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);

// As above. On failure, sets `error` and returns the entries that could be read.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder,
                                                         std::error_code& error);

// Whether `path` is `folder` or inside it, either as written or after following links. Neither must
// exist.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace shoal
