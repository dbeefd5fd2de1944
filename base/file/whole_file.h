#pragma once
// Reads and writes whole files. Write every file that another program reads, or that this program
// reads after a crash, with these functions. Code that writes such a file in another way must
// explain why in a comment.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

using ByteSink = std::function<void(const void* bytes, size_t size)>;

struct WholeFileOptions {
  // Folder for the temporary file; must be on the final folder's mount (see can_rename()). Empty:
  // the final folder. The temporary file is .NAME.part or, with `concurrent`, .NAME.PID-TIME.part.
  std::filesystem::path aside = {};
  // Allows several processes to write the file at the same time; the last one wins. Each uses its
  // own temporary file, which stays behind if the process is killed. False: only one process may
  // write at a time.
  bool concurrent = false;
  // Flushes the file and its directory to disk. To write many small files, set it to false and
  // flush all of them at the end with flush_file_system(). Until then, a power loss can leave files
  // short or empty.
  bool flush = true;
  // Called after all bytes are written (and flushed, if `flush`), before the rename.
  std::function<void()> before_rename = {};
};

// Replaces the file `path` atomically: after a crash or power loss it contains either all old bytes
// or all new ones. Calls `produce` with a sink that accepts the bytes in pieces of any size. Writes
// to a temporary file, flushes it, renames it, and flushes the directory. Removes the temporary
// file after an error. The file's permissions are 0666 less the umask. If `path` is a symbolic
// link, replaces the link, not its target. Throws std::system_error with the path and the system's
// reason, and rethrows exceptions of `produce` and `before_rename`.
//
// If is_special(path), writes directly into `path` instead.
void write_whole(const std::filesystem::path& path,
                 const std::function<void(const ByteSink&)>& produce,
                 const WholeFileOptions& options = {});
void write_whole(const std::filesystem::path& path, const std::string& text,
                 const WholeFileOptions& options = {});

// Does only the last step of write_whole(): renames `part`, which must be complete and flushed, to
// `path` and flushes the directory. For files that take hours to write and are resumed after an
// interruption. Throws std::system_error.
void move_into_place(const std::filesystem::path& part, const std::filesystem::path& path);

// Whether a file can be renamed from folder `from` into folder `to`. Creates and renames an empty
// file to find out: renaming fails between two mounts, even of the same file system. Only one
// process at a time may call this for a folder.
bool can_rename(const std::filesystem::path& from, const std::filesystem::path& to);

// Removes temporary files that killed writers left in `folder`, if `is_ours` accepts the name
// between "." and ".part". Ignores errors.
void remove_parts(const std::filesystem::path& folder,
                  const std::function<bool(const std::filesystem::path& name)>& is_ours);

// Returns the folder that contains `path`: "." for a name without a folder.
std::filesystem::path parent_folder(const std::filesystem::path& path);

// Whether `path` exists and must be written to instead of replaced: a device, pipe, socket, or a
// descriptor of a process, such as /dev/stdout, even if it is redirected to a file.
bool is_special(const std::filesystem::path& path);

// Returns the absolute path of `path` or, if it does not exist, of its nearest existing parent
// folder.
std::filesystem::path existing_parent(const std::filesystem::path& path);

// Whether files can be created in `folder`. Creates and removes an empty folder to find out: root
// passes permission checks even on read-only file systems.
bool can_create_in(const std::filesystem::path& folder);

// Creates a folder and those above it. Throws std::system_error with the path and the reason.
void create_folders(const std::filesystem::path& folder);

// Flushes the entries of a folder: earlier renames and removals then survive a power loss, and
// reach the disk before later changes. Throws std::system_error. If the file system cannot flush
// folders or this user may not read the folder, logs a warning instead, once per process.
void flush_folder(const std::filesystem::path& folder);

// Flushes the whole file system that contains `folder`. Handles errors like flush_folder().
void flush_file_system(const std::filesystem::path& folder);

// Returns all bytes of a regular file. Throws std::system_error with the path and the system's
// reason.
std::vector<char> read_whole_file(const std::filesystem::path& path);
// Returns all bytes of a file or pipe, or nothing if it cannot be read.
std::optional<std::string> read_if_readable(const std::filesystem::path& path);
// Returns the lines of a text file or pipe, without trailing blanks and carriage returns. Skips a
// byte order mark at the beginning of the file.
// Throws std::system_error with the path and the system's reason.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace shoal
