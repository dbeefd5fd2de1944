// A zip archive ends with its directory (a record for each file) and an end record that locates the
// directory. In archives with 64-bit sizes, a second end record and its locator precede this end
// record. Each file's content follows a local header, whose name and extra field may be longer than
// those in the directory.
#include "train/weights/formats/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

#include "base/format/zip_format.h"
#include "data/container/image_extensions.h"

namespace shoal::train {
namespace {

constexpr uint64_t kMaxFiles = 1'000'000;
constexpr uint16_t kEncrypted = 1;

[[noreturn]] void damaged() {
  throw std::runtime_error("its zip directory is damaged");
}

}  // namespace

std::span<const char> ZipFile::part(uint64_t at, uint64_t bytes) const {
  if (at > bytes_.size() || bytes > bytes_.size() - at) damaged();
  return bytes_.subspan(at, bytes);
}

template <class T>
T ZipFile::number(uint64_t at) const {
  return zip::number<T>(part(at, sizeof(T)).data());
}

ZipFile::Directory ZipFile::find_directory() const {
  const uint64_t last = bytes_.size() - zip::kEndBytes;
  const uint64_t first = last - std::min(last, zip::kMaxComment);
  uint64_t end = last;
  while (number<uint32_t>(end) != zip::kEnd || number<uint16_t>(end + 20) > last - end)
    if (end-- == first) damaged();
  if (end < zip::kLocator64Bytes || number<uint32_t>(end - zip::kLocator64Bytes) != zip::kLocator64)
    return {number<uint16_t>(end + 10), number<uint32_t>(end + 12), number<uint32_t>(end + 16)};
  const auto end64 = number<uint64_t>(end - zip::kLocator64Bytes + 8);
  if (number<uint32_t>(end64) != zip::kEnd64) damaged();
  part(end64, zip::kEnd64Bytes);
  return {number<uint64_t>(end64 + 32), number<uint64_t>(end64 + 40), number<uint64_t>(end64 + 48)};
}

// Reads a directory entry's extra field, which contains the values that do not fit into 32 bits.
// Call widened() for the entry's size, compressed size and offset, in this order.
class ZipFile::Fields {
 public:
  Fields(const ZipFile& zip, uint64_t at, uint64_t bytes) : zip_(zip) {
    for (const uint64_t end = at + bytes; at + 4 <= end;) {
      const uint64_t size = zip.number<uint16_t>(at + 2);
      if (zip.number<uint16_t>(at) == zip::kExtra64)
        next_ = at + 4, end_ = std::min(at + 4 + size, end);
      at += 4 + size;
    }
  }
  uint64_t widened(uint32_t value) {
    if (value != zip::kIn64) return value;
    if (end_ - next_ < sizeof(uint64_t)) damaged();
    next_ += sizeof(uint64_t);
    return zip_.number<uint64_t>(next_ - sizeof(uint64_t));
  }

 private:
  const ZipFile& zip_;
  uint64_t next_ = 0, end_ = 0;
};

uint64_t ZipFile::add_entry(uint64_t at) {
  part(at, zip::kDirectoryEntryBytes);
  if (number<uint32_t>(at) != zip::kDirectoryEntry) damaged();
  const auto name_bytes = number<uint16_t>(at + 28), extra_bytes = number<uint16_t>(at + 30),
             comment_bytes = number<uint16_t>(at + 32);
  const auto text = part(at + zip::kDirectoryEntryBytes, name_bytes);
  const uint64_t extra = at + zip::kDirectoryEntryBytes + name_bytes;
  part(extra, uint64_t{extra_bytes} + comment_bytes);
  Fields fields(*this, extra, extra_bytes);
  Entry entry;
  entry.stored =
      (number<uint16_t>(at + 8) & kEncrypted) == 0 && number<uint16_t>(at + 10) == zip::kStored;
  entry.bytes = fields.widened(number<uint32_t>(at + 24));
  const uint64_t compressed = fields.widened(number<uint32_t>(at + 20));
  entry.header = fields.widened(number<uint32_t>(at + 42));
  entry.crc = number<uint32_t>(at + 16);
  if (entry.stored && compressed != entry.bytes) damaged();
  const std::string_view name(text.data(), text.size());
  if (entries_.empty()) first_name_ = name;
  if (!entries_.emplace(name, entry).second)
    throw std::runtime_error("its zip directory names a file twice");
  return extra + extra_bytes + comment_bytes;
}

ZipFile::ZipFile(std::span<const char> bytes) : bytes_(bytes) {
  if (bytes.size() < zip::kEndBytes || number<uint32_t>(0) != zip::kLocalHeader)
    throw std::runtime_error("it is not a zip archive");
  const Directory directory = find_directory();
  if (directory.entries > kMaxFiles) throw std::runtime_error("it has more than a million files");
  part(directory.offset, directory.bytes);
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.entries; ++i) at = add_entry(at);
}

std::optional<std::span<const char>> ZipFile::find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  if (!entry.stored)
    throw std::runtime_error("its " + name +
                             " is compressed or encrypted; save it with torch.save");
  part(entry.header, zip::kLocalHeaderBytes);
  if (number<uint32_t>(entry.header) != zip::kLocalHeader) damaged();
  const uint64_t skipped = uint64_t{number<uint16_t>(entry.header + 26)} +
                           number<uint16_t>(entry.header + 28) + zip::kLocalHeaderBytes;
  return part(entry.header + skipped, entry.bytes);
}

std::string_view ZipFile::image_name() const {
  for (const auto& [name, entry] : entries_)
    if (data::has_image_extension(name)) return name;
  return {};
}

std::string_view ZipFile::wrong_checksum() const {
  for (const auto& [name, entry] : entries_) {
    const std::span<const char> content = *find(std::string(name));
    const auto* const bytes = reinterpret_cast<const Bytef*>(content.data());
    if (::crc32_z(0, bytes, content.size()) != entry.crc) return name;
  }
  return {};
}

void ZipFile::check_contents() const {
  if (const std::string_view name = wrong_checksum(); !name.empty())
    throw std::runtime_error("the checksum of the entry " + std::string(name) + " is wrong");
}

}  // namespace shoal::train
