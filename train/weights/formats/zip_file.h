#pragma once
// Finds the files of a zip archive that is in memory. Source: PKWARE's APPNOTE 6.3, sections 4.3 to
// 4.5. Does not use LibTorch.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shoal::train {

// Reads single-part archives (also Zip64) whose files are stored without compression, as torch.save
// writes them. Checks every offset and size, but CRC-32 only in wrong_checksum().
class ZipFile {
 public:
  // `bytes` must outlive this object. Throws std::runtime_error if they are not a zip archive, or
  // if its directory is damaged or names a file twice.
  explicit ZipFile(std::span<const char> bytes);

  // Returns the name of the directory's first file.
  std::string_view first_name() const { return first_name_; }
  // Returns the name of a file that has an image's extension; empty if there is none.
  std::string_view image_name() const;
  // Returns the content of a file; nullopt if no file has that name. Throws std::runtime_error
  // if the file is compressed or encrypted, or if its data extends beyond the archive.
  std::optional<std::span<const char>> find(const std::string& name) const;
  // Returns the name of a file whose content does not match its CRC-32; empty if there is none.
  // Throws what find() throws.
  std::string_view wrong_checksum() const;
  // Throws std::runtime_error if wrong_checksum() is not empty, and what find() throws.
  void check_contents() const;

 private:
  struct Entry {
    uint64_t header = 0, bytes = 0;  // offset of the local header; size of the content
    uint32_t crc = 0;                // CRC-32 of the content
    bool stored = false;             // neither compressed nor encrypted
  };
  struct Directory {
    uint64_t entries = 0, bytes = 0, offset = 0;
  };
  class Fields;

  Directory find_directory() const;
  uint64_t add_entry(uint64_t at);  // returns the offset of the next entry
  template <class T>
  T number(uint64_t at) const;
  std::span<const char> part(uint64_t at, uint64_t bytes) const;

  std::span<const char> bytes_;
  std::string_view first_name_;
  std::map<std::string_view, Entry> entries_;  // the keys point into bytes_
};

}  // namespace shoal::train
