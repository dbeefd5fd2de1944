#pragma once
// Reads and writes whole files. Every file that other programs, or this one after a crash, will
// read is written through this header, or its writer says in a comment why not.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace shoal {

using ByteSink = std::function<void(const void* bytes, size_t size)>;

struct WholeFileOptions {
  // Folder of the temporary file, on the same file system. Empty: beside the file, hidden.
  std::filesystem::path aside = {};
  // Several processes may write the file at the same time; the last one wins. Each gets a temporary
  // name of its own, which a killed process leaves behind. Without it, one writer at a time.
  bool concurrent = false;
  // Flush the file and its directory to disk. False for many small files: the caller flushes all of
  // them with flush_file_system(). Until then a power loss can leave the new file short or empty.
  bool flush = true;
};

// Replaces `path` as a whole: after a crash or power loss it has the old bytes or the new ones.
// Passes `produce` a sink for the bytes, in pieces of any size. Writes to a temporary file, flushes
// it, renames it, and flushes the directory. Removes the temporary file when anything fails,
// including `produce`, whose exception is passed on. The umask decides the file's permissions.
// Throws std::runtime_error with the path and the system's reason.
void write_whole(const std::filesystem::path& path,
                 const std::function<void(const ByteSink&)>& produce,
                 const WholeFileOptions& options = {});
void write_whole(const std::filesystem::path& path, const std::string& text,
                 const WholeFileOptions& options = {});

// The last step alone, for a file that is written over hours and resumed: renames the finished,
// flushed file `part` to `path` and flushes the directory. Throws std::runtime_error.
void move_into_place(const std::filesystem::path& part, const std::filesystem::path& path);

// Flushes everything that was written to the file system of `folder`. Throws std::runtime_error.
void flush_file_system(const std::filesystem::path& folder);

// Returns all bytes of a file. Throws std::runtime_error with the path and the system's reason.
std::vector<char> read_whole_file(const std::filesystem::path& path);

}  // namespace shoal
