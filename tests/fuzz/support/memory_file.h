#pragma once
// Gives fuzzed bytes to code that reads files, without a disk.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace shoal::fuzz {

// One file in memory with changing content.
class MemoryFile {
 public:
  // `link`: a symbolic link to the file, for code that expects a certain name; empty: none.
  explicit MemoryFile(const std::filesystem::path& link = {})
      : file_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
    if (!link.empty()) std::filesystem::create_symlink(path(), link);
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

  void fill(std::string_view bytes) const {
    if (::ftruncate(file_, 0) != 0 ||
        ::pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  void fill(std::span<const uint8_t> bytes) const {
    fill(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

 private:
  int file_;
};

}  // namespace shoal::fuzz
