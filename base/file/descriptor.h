#pragma once
// Owns file descriptors; reads and writes complete buffers.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace shoal {

// Owns a file descriptor; -1 means none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // Returns the descriptor and gives up its ownership.
  int release() noexcept { return std::exchange(number_, -1); }
  // Returns the errno of close(2); 0 on success or if nothing is open. Check it after writing:
  // network file systems may report failed writes only here.
  int close() noexcept;

 private:
  int number_;
};

// Calls open(2) with O_CLOEXEC and retries if a signal interrupts it. `mode`: permissions of a new
// file before the umask. On failure, returns a descriptor that is not open and leaves errno set.
Descriptor open_file(const char* path, int flags, unsigned mode = 0666);

// Whether an open file has been removed from its folder, also by another host (NFS: ESTALE).
bool is_removed(int descriptor) noexcept;

// Writes the content of an open file to disk with fsync(2), and retries if a signal interrupts it.
// Returns 0 or the errno of fsync(2).
int flush_file(int descriptor) noexcept;

// Opens /dev/null for each of stdin, stdout and stderr that is closed. Otherwise a file that the
// program opens could get number 1 or 2, and messages would be written to it. Call first in main.
void open_standard_files() noexcept;

// Calls read(2), and retries if a signal interrupts it. Returns the number of bytes that were read,
// 0 at the end of the file, or -1 with errno set.
int64_t read_some(int descriptor, void* to, size_t size) noexcept;

// Reads with pread(2) until `size` bytes are read or the file ends. Continues after short reads and
// signals. Returns the number of bytes that were read, or -1 with errno set.
int64_t read_at(int descriptor, void* to, size_t size, uint64_t offset) noexcept;

// Writes all bytes at the descriptor's current position. Continues after short writes and signals,
// and waits while a non-blocking descriptor is not ready. Returns 0, or the errno of the write that
// failed. Allocates no memory.
int write_all(int descriptor, const void* bytes, size_t size) noexcept;

// Throws std::system_error with the text "cannot WHAT PATH: REASON". `what` is a verb,
// `error` an errno.
[[noreturn]] void throw_file_error(const char* what, const std::filesystem::path& path,
                                   int error = errno);

}  // namespace shoal
