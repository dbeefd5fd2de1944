#pragma once
// The directory of a zip archive: a row for each entry. An end record locates it. In archives with
// 64-bit sizes, a second end record and its locator precede the end record. Source: PKWARE's
// APPNOTE 6.3.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/file.h"

namespace shoal::data {

struct ZipRow {
  std::string name;
  uint64_t header = 0;             // offset of the local header
  uint64_t packed = 0, bytes = 0;  // size of the content in the archive, and uncompressed
  uint32_t crc = 0;                // CRC-32 of the uncompressed content
  uint16_t flags = 0, method = 0;
  bool is_link = false;
};

// Returns the offset of the end record; nothing if there is none.
std::optional<uint64_t> find_zip_end(const File& file);

// Throw std::invalid_argument. refuse_zip(): `what` continues a sentence that begins with the zip's
// path. damaged_zip(): `what` describes the damage.
[[noreturn]] void refuse_zip(const File& file, const std::string& what);
[[noreturn]] void damaged_zip(const File& file, const std::string& what);

// Reads the rows of the directory in their order. Not thread-safe. Throws std::invalid_argument,
// naming the file, if the directory is damaged or the zip is split or cut short.
class ZipDirectory {
 public:
  explicit ZipDirectory(const File& file);  // `file` must outlive this object

  // Offset of the directory. All entries end before it.
  uint64_t offset() const { return place_.offset; }
  // Reads the next row; returns false at the end.
  bool next(ZipRow& row);

 private:
  struct Place {
    uint64_t offset = 0, bytes = 0;
    uint64_t rows = 0;
    bool is64 = false;  // if false, `rows` may be the number of rows modulo 65536
  };
  static Place find(const File& file);
  static Place find_wide(const File& file, uint64_t offset, uint64_t limit);
  const uint8_t* take(size_t bytes);
  void check_rows() const;
  uint64_t widened(uint32_t value, std::span<const uint8_t>& numbers) const;

  const File& file_;
  const Place place_;
  FileSource source_;
  std::vector<uint8_t> piece_;  // a part of the directory
  size_t taken_ = 0;            // number of bytes of piece_ that take() has returned
  uint64_t rows_ = 0;           // number of rows that next() has read
};

}  // namespace shoal::data
