#pragma once
// Goes through a tar from front to back: POSIX ustar and pax, GNU tar, and what came before them.
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
  std::string name;           // as it stands there, without a leading ./
  bool is_link = false;       // a hard link: it has no content of its own
  std::string link;           // of a hard link: the name it points to
  uint64_t bytes = 0;         // of its content
  uint64_t header_place = 0;  // of its own header; for messages
};

// Files that list_folder() would pass over too: .name, and all in a folder of such a name.
inline bool is_hidden(std::string_view name) {
  return name.starts_with('.') || name.find("/.") != std::string_view::npos;
}

// Throws std::invalid_argument with name and place where the tar is damaged, cut short (also when
// only its end mark is missing), or has something that cannot be read in place: a sparse file, a
// symbolic link, a part of a multi-volume archive.
class TarWalker {
 public:
  explicit TarWalker(ByteSource& source) : source_(source) {}

  // The next regular file or hard link; directories, devices and other things without content are
  // passed over. Its content is what the source gives next: the caller reads as much of it as it
  // likes. False at the end mark.
  bool next(TarEntry& entry);

  // Behind the end mark: passes over zeros. True where another tar begins, whose entries next()
  // gives then; false at the end of everything. `most`: bytes that are looked at.
  bool next_archive(uint64_t most = UINT64_MAX);

  uint64_t place() const { return header_; }  // of the last header

 private:
  // What the headers before an entry say about it.
  struct Said {
    std::optional<std::string> name, link;
    std::optional<uint64_t> bytes;
  };

  [[noreturn]] void refuse(const std::string& what) const;
  bool next_header();
  bool header(TarEntry& entry);
  std::string text_content(uint64_t bytes);
  void pass_content();
  void read_pax(std::string_view text);
  void pax_record(std::string_view key, std::string_view value);

  ByteSource& source_;
  TarBlock block_{};
  bool held_ = false;         // block_ is a header that next() has not looked at yet
  uint64_t header_ = 0;       // where block_ stands
  uint64_t content_end_ = 0;  // of the last entry's content, without filling
  uint64_t filling_ = 0;      // bytes behind it
  Said said_;
};

// True when these first bytes are a header whose checksum is right.
bool begins_tar(std::span<const uint8_t> head);

}  // namespace shoal::data
