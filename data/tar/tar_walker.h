#pragma once
// Reads a tar from front to back: POSIX ustar and pax, GNU tar, and the older V7 format.
// Sources: POSIX pax (IEEE Std 1003.1, "ustar Interchange Format", "pax Interchange Format"), GNU
// tar's manual ("Basic Tar Format").

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/byte_source.h"

namespace shoal::data {

constexpr uint64_t kTarBlock = 512;  // bytes
using TarBlock = std::array<char, kTarBlock>;

struct TarEntry {
  std::string name;           // path in the tar, simplified by plain_name()
  bool is_link = false;       // a hard link, which has no content
  std::string link;           // target of the hard link
  uint64_t bytes = 0;         // size of the entry's content; 0 for a hard link
  uint64_t header_place = 0;  // offset of the entry's header; for messages
};

// Returns the name of a member without empty and "." folders, and without leading ".." folders.
// Keeps a slash at the end, which marks a folder.
std::string plain_name(std::string_view name);

// Whether a name, or one of its folders, starts with a dot. Like list_folder(), readers of archives
// leave out such files.
inline bool is_hidden(std::string_view name) {
  return name.starts_with('.') || name.find("/.") != std::string_view::npos;
}

inline bool is_tar_name(std::string_view name) {
  return name.ends_with(".tar");
}

// All functions throw std::invalid_argument with name and offset if the tar is damaged, cut short
// (even if only the end mark is missing), or has a member that cannot be read in place: a sparse
// file, a symbolic link, a part of a multi-volume archive.
class TarWalker {
 public:
  explicit TarWalker(ByteSource& source) : source_(source) {}

  // Finds the next regular file or hard link. Skips members of other types, or throws for them (see
  // the class comment). Afterwards the source is at the start of the file's content, of which the
  // caller may read any part; a hard link has no content. Returns false at the end mark.
  bool next(TarEntry& entry);

  // Call after the end mark. Skips zeros, and returns true if another tar follows; next() then
  // returns its entries. Returns false at the end of the source. Throws if other data follows.
  bool next_archive();
  // Like next_archive(), but returns false if other data follows, or after `most` bytes.
  bool has_archive_within(uint64_t most);

  uint64_t place() const { return header_; }  // offset of the last header

 private:
  // Attributes from extended headers before an entry. They override those in the entry's own
  // header.
  struct Extended {
    std::optional<std::string> name, link;
    std::optional<uint64_t> bytes;
  };

  [[noreturn]] void refuse(const std::string& what, const std::string& advice = "") const;
  bool next_header();
  bool header(TarEntry& entry);
  std::string text_content(uint64_t bytes);
  void pass_content();
  void read_pax(std::string_view text);
  void pax_record(std::string_view key, std::string_view value);

  ByteSource& source_;
  TarBlock block_{};
  bool held_ = false;         // block_ is a header that next() has not processed yet
  uint64_t header_ = 0;       // offset of block_
  uint64_t content_end_ = 0;  // end of the last entry's content, without padding
  uint64_t padding_ = 0;      // number of bytes between content_end_ and the next header
  Extended extended_;
};

// Whether these bytes begin with a tar header that has a correct checksum.
bool begins_tar(std::span<const uint8_t> head);

}  // namespace shoal::data
