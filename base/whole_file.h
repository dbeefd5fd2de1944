#pragma once
// The one way to write a file that other programs, or this one after a crash, will read; and to read
// one.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace shoal {

using ByteSink = std::function<void(const void* bytes, size_t size)>;

// Replaces `path` as a whole: after a crash or power loss it holds the old bytes or the new ones.
// Writes the bytes that `produce` hands to its sink under a temporary name, flushes them to disk,
// renames, and flushes the directory. The temporary file is in `aside`, which must be on the same
// file system; empty: beside `path`, hidden. It is removed when anything fails, `produce` included,
// whose exception is passed on. Throws std::runtime_error with the path and the system's reason.
// One writer for each path at a time.
void write_whole(const std::filesystem::path& path,
                 const std::function<void(const ByteSink&)>& produce,
                 const std::filesystem::path& aside = {});
void write_whole(const std::filesystem::path& path, const std::string& text);

// All bytes of a file. Throws std::runtime_error with the path and the system's reason.
std::vector<char> read_whole_file(const std::filesystem::path& path);

}  // namespace shoal
