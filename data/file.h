#pragma once
// Files with random access.

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file/descriptor.h"

namespace shoal::data {

// Opening, examining or reading a file failed. The message has the path and the system's reason.
class FileFailure : public std::runtime_error {
 public:
  FileFailure(const char* what, const std::string& path, int error);
  const std::string& what_failed() const { return what_failed_; }  // "cannot read it: REASON"
  int error() const { return error_; }                             // errno

 private:
  std::string what_failed_;
  int error_;
};

// Size, time of the last modification, and time of the last change of content or attributes.
// Programs cannot set changed_ns. Equal stamps mean equal content, unless the clock was set back or
// the file changed twice within the resolution of its timestamps (see changed_recently() in
// container/cache_file.h).
struct FileStamp {
  int64_t bytes = 0, modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const struct stat& status);
// Returns the stamp of a file (links are followed), or nothing if it cannot be examined or is not a
// regular file.
std::optional<FileStamp> file_stamp(const std::string& path);

// Bytes with random access. Thread-safe.
class Readable {
 public:
  virtual ~Readable() = default;
  // Reads `bytes` bytes from `offset` on into `to`. Returns the number of bytes read, which is less
  // than `bytes` only at the end.
  virtual int64_t read_at(uint64_t offset, void* to, int64_t bytes) const = 0;
};

// A view of `bytes`, which must outlive this object.
class ReadableMemory : public Readable {
 public:
  explicit ReadableMemory(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  int64_t read_at(uint64_t offset, void* to, int64_t bytes) const override;

 private:
  std::span<const uint8_t> bytes_;
};

// How a file is read.
enum class Reads {
  seeking,  // only the requested bytes
  // Reads everything from the first requested byte on, front to back, in pieces of 4 MiB. Keeps the
  // last two pieces; reads earlier bytes again from the file. For file systems that prefetch.
  forward,
  scattered  // like seeking, with the system's readahead disabled
};

// A file that is open for reading. Thread-safe. Throws FileFailure if a system call fails, except
// in will_read().
class File : public Readable {
 public:
  explicit File(std::string path, Reads reads = Reads::seeking);
  File(Descriptor file, std::string path);  // `path` is for messages only
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  FileStamp stamp() const;
  bool is_regular() const;
  int64_t read_at(uint64_t offset, void* to, int64_t bytes) const override;
  // Hint: asks the system to prefetch this part. No effect with Reads::forward.
  void will_read(uint64_t offset, uint64_t bytes) const;
  const std::string& path() const { return path_; }

 private:
  class Window;  // the pieces that Reads::forward keeps

  std::string path_;
  Descriptor file_;
  std::unique_ptr<Window> window_;
};

// Reads exactly `bytes` bytes from `offset` on. Throws DamagedImage if the disk cannot read this
// part (EIO), FileFailure for other errors, and std::runtime_error if the file has become shorter.
void read_fully(const File& file, uint64_t offset, void* to, int64_t bytes);

// Throws DamagedImage if `failure` is a read error of the disk (EIO), because other images can
// still be read. Otherwise throws `failure`.
[[noreturn]] void throw_for_image(const FileFailure& failure);

// Like shoal::read_at() (base/file/descriptor.h), but throws FileFailure, which names `path`.
int64_t read_from(int descriptor, const std::string& path, uint64_t offset, void* to,
                  int64_t bytes);

// Hint: asks the system to prefetch the file. Allocates no memory. Throws FileFailure.
void will_read_file(const std::string& path);

// Replaces `bytes` with the content of the file and returns its size. If the size exceeds `most`,
// returns it and leaves `bytes` unchanged. Allocates no memory if the capacity of `bytes` suffices.
// Throws FileFailure.
int64_t read_file(const std::string& path, int64_t most, std::vector<uint8_t>& bytes);

}  // namespace shoal::data
