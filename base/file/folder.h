#pragma once
// Lists folders and compares paths. data/folder/listing.cpp has its own listing, because it also
// needs the entries' types and the folder's modification time from the same descriptor.

#include <filesystem>
#include <system_error>
#include <vector>

namespace shoal {

// Returns the entries of a folder, including hidden ones, in the file system's order. Throws a
// std::system_error that names the folder. Use this instead of a range-based loop over
// std::filesystem::directory_iterator, which throws errors without the folder's name, even if the
// iterator was constructed with an error_code.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);

// Like entries_of(folder), but on failure sets `error` and returns the entries that could be read.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder,
                                                         std::error_code& error);

// Whether a file or folder exists. Unlike std::filesystem::exists(), returns false if the path
// cannot be examined, for example because it is too long.
bool path_exists(const std::filesystem::path& path);

// Returns the type of a folder's entry, following links: not_found for a broken link or a loop of
// links. Throws std::filesystem::filesystem_error with the path for other errors.
std::filesystem::file_type type_of(const std::filesystem::directory_entry& entry);

// Returns the absolute path after following links, without a slash at its end. `path` need not
// exist. If links cannot be followed, returns the absolute path as written.
std::filesystem::path real_path(const std::filesystem::path& path);

// Whether `path` is `folder` or inside it, either as written or after following links. The paths
// need not exist.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace shoal
