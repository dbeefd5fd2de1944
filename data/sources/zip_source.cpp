// A zip archive consists of entries, a directory with a row for each entry, and an end record that
// locates the directory. In archives with 64-bit sizes, a second end record and its locator precede
// the end record. An entry consists of a local header and its content. The length of the
// local header is not in the directory, so reading an image starts with its local header. Listing
// reads only the directory, and the first bytes of files without an image extension.
#include "data/sources/zip_source.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/format/zip_format.h"
#include "data/byte_source.h"
#include "data/container/catalogue.h"
#include "data/container/image_files.h"
#include "data/container/inflate.h"
#include "data/container/scan_files.h"
#include "data/errors.h"
#include "data/limits.h"
#include "data/sources/folder_names.h"
#include "data/sources/split_folder.h"
#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

constexpr uint64_t kZipNames = 256;            // bytes of name and extra field, rarely more
constexpr size_t kZipPiece = size_t{1} << 20;  // bytes of the directory to read at a time
constexpr uint16_t kZipEncrypted = 0x2041;     // flags: encrypted, strongly, masked headers

struct ZipRow {
  std::string name;
  uint64_t header = 0;             // offset of the local header
  uint64_t packed = 0, bytes = 0;  // size of the content in the archive, and uncompressed
  uint32_t crc = 0;                // CRC-32 of the uncompressed content
  uint16_t flags = 0, method = 0;
  bool is_link = false;
};

struct ZipDirectory {
  uint64_t offset = 0, bytes = 0;
  uint64_t rows = 0;
  bool is64 = false;  // if false, `rows` may be the number of rows modulo 65536
};

// Returns the offset of the end record; nothing if there is none.
std::optional<uint64_t> find_zip_end(const File& file) {
  const auto size = static_cast<uint64_t>(file.stamp().bytes);
  std::vector<uint8_t> tail(std::min(size, zip::kMaxComment + zip::kEndBytes));
  const uint64_t begin = size - tail.size();
  const int64_t count = file.read_at(begin, tail.data(), static_cast<int64_t>(tail.size()));
  tail.resize(static_cast<size_t>(count));
  for (const bool exact : {true, false}) {  // the comment ends at the end of the file, or before it
    for (size_t end = tail.size(); end >= zip::kEndBytes; --end) {
      const uint8_t* const at = tail.data() + end - zip::kEndBytes;
      const size_t behind = tail.size() - end, comment = zip::number<uint16_t>(at + 20);
      if (zip::number<uint32_t>(at) == zip::kEnd && (exact ? comment == behind : comment < behind))
        return begin + end - zip::kEndBytes;
    }
  }
  return std::nullopt;
}

std::string method_name(uint16_t method) {
  const char* const name = method == 9    ? " (Deflate64)"
                           : method == 12 ? " (bzip2)"
                           : method == 14 ? " (LZMA)"
                           : method == 93 ? " (zstd)"
                           : method == 95 ? " (xz)"
                                          : "";
  return std::to_string(method) + name;
}

// Returns the size that the entry's content has in the archive, compressed or stored. `entry`: an
// Image or a ScanEntry.
template <class Entry>
uint64_t packed_bytes(const Entry& entry) {
  return entry.behind > 0 ? entry.behind : entry.bytes;
}

// Replaces `to` with the first `count` bytes of an entry's content. If that is the whole content,
// checks the CRC-32. In entries of zips, `offset` is the offset of the local header, `before` the
// CRC-32, and `behind` the size of the compressed content, or 0 if the content is stored.
void read_zip_entry(const File& file, const Image& entry, uint64_t count,
                    std::vector<uint8_t>& to) {
  std::array<uint8_t, zip::kLocalHeaderBytes> header{};
  read_fully(file, entry.offset, header.data(), static_cast<int64_t>(header.size()));
  const bool stored = entry.behind == 0;
  const uint64_t packed = packed_bytes(entry);
  const uint64_t content = entry.offset + zip::kLocalHeaderBytes +
                           zip::number<uint16_t>(header.data() + 26) +
                           zip::number<uint16_t>(header.data() + 28);
  if (zip::number<uint32_t>(header.data()) != zip::kLocalHeader ||
      (zip::number<uint16_t>(header.data() + 6) & kZipEncrypted) != 0 ||
      zip::number<uint16_t>(header.data() + 8) != (stored ? zip::kStored : zip::kDeflated) ||
      content + packed > static_cast<uint64_t>(file.stamp().bytes))
    throw DamagedImage("its header contradicts the directory of the zip");
  bool complete = true;
  if (stored || count == 0) {
    to.resize(count);
    read_fully(file, content, to.data(), static_cast<int64_t>(count));
  } else {
    complete = inflate_raw(file, content, packed, count, to);
  }
  if (count < entry.bytes) return;
  if (!complete) throw DamagedImage("its content does not end at the size that the zip states");
  if (crc32_of(to) != entry.before) throw DamagedImage("its checksum is wrong");
}

class ZipScan {
 public:
  explicit ZipScan(const File& file) : file_(file) {}

  Scan run() {
    directory_ = find_directory();
    FileSource source(file_, directory_.offset, directory_.offset + directory_.bytes);
    uint64_t rows = 0;
    for (ZipRow row; next(source, row); ++rows) add(row);
    const uint64_t stated = directory_.rows;
    if (directory_.is64 ? rows != stated : rows % 65536 != stated)
      damaged("its directory has " + std::to_string(rows) + " entries instead of " +
              std::to_string(stated));
    check_overlaps();
    if (scan_.size() == 0 && !archive_.empty())
      refuse(" contains the archive " + archive_ + " but no image; unpack the outer zip");
    return std::move(scan_);
  }

 private:
  // `what`: the rest of a sentence that begins with the path.
  [[noreturn]] void refuse(const std::string& what) const {
    throw std::invalid_argument(file_.path() + what);
  }
  [[noreturn]] void damaged(const std::string& what) const {
    refuse(" is damaged or cut short: " + what + "; download or make it again");
  }

  void read(uint64_t offset, std::span<uint8_t> to) const {
    const auto bytes = static_cast<int64_t>(to.size());
    if (file_.read_at(offset, to.data(), bytes) < bytes) damaged("a part of this zip is missing");
  }

  ZipDirectory find_directory() const {
    const std::optional<uint64_t> end = find_zip_end(file_);
    if (!end) damaged("this zip has no directory");
    uint64_t limit = *end;
    std::array<uint8_t, zip::kEndBytes> record{};
    const uint8_t* const at = record.data();
    read(limit, record);
    ZipDirectory directory{zip::number<uint32_t>(at + 16), zip::number<uint32_t>(at + 12),
                           zip::number<uint16_t>(at + 10), false};
    bool split = zip::number<uint16_t>(at + 4) != 0 || zip::number<uint16_t>(at + 6) != 0 ||
                 zip::number<uint16_t>(at + 8) != directory.rows;
    if (limit >= zip::kLocator64Bytes) {
      read(limit - zip::kLocator64Bytes, std::span(record).first(zip::kLocator64Bytes));
      if (zip::number<uint32_t>(at) == zip::kLocator64) {
        split = zip::number<uint32_t>(at + 16) > 1;
        limit = zip::number<uint64_t>(at + 8);
        if (!split) directory = wide_directory(limit, *end - zip::kLocator64Bytes);
      }
    }
    if (split)
      refuse(" is a part of a split zip; join the parts (zip -s 0 FILE.zip --out WHOLE.zip)");
    if (directory.offset > limit || directory.bytes > limit - directory.offset)
      damaged("its directory is beyond its end");
    return directory;
  }

  // Reads the end record with 64-bit numbers at `offset`. It must end before `limit`.
  ZipDirectory wide_directory(uint64_t offset, uint64_t limit) const {
    std::array<uint8_t, zip::kEnd64Bytes> record{};
    const uint8_t* const at = record.data();
    const bool outside = limit < record.size() || offset > limit - record.size();
    if (!outside) read(offset, record);
    if (outside || zip::number<uint32_t>(at) != zip::kEnd64) damaged("its end record is wrong");
    return {zip::number<uint64_t>(at + 48), zip::number<uint64_t>(at + 40),
            zip::number<uint64_t>(at + 32), true};
  }

  // Returns the next bytes of the directory, valid until the next call.
  const uint8_t* take(ByteSource& source, size_t bytes) {
    if (piece_.size() - taken_ < bytes) {
      piece_.erase(piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
      append_bytes(source, kZipPiece, piece_);
      if (piece_.size() < bytes) damaged("its directory has no end");
    }
    taken_ += bytes;
    return piece_.data() + taken_ - bytes;
  }

  // Reads the next row of the directory; returns false at its end.
  bool next(ByteSource& source, ZipRow& row) {
    if (taken_ == piece_.size() && source.position() == directory_.offset + directory_.bytes)
      return false;
    const uint8_t* at = take(source, zip::kDirectoryEntryBytes);
    if (zip::number<uint32_t>(at) != zip::kDirectoryEntry) damaged("its directory is wrong");
    const auto host = zip::number<uint16_t>(at + 4) >> 8;
    const auto name_bytes = zip::number<uint16_t>(at + 28),
               extra_bytes = zip::number<uint16_t>(at + 30),
               comment_bytes = zip::number<uint16_t>(at + 32);
    const auto packed = zip::number<uint32_t>(at + 20), bytes = zip::number<uint32_t>(at + 24),
               header = zip::number<uint32_t>(at + 42), attributes = zip::number<uint32_t>(at + 38);
    row.flags = zip::number<uint16_t>(at + 8);
    row.method = zip::number<uint16_t>(at + 10);
    row.crc = zip::number<uint32_t>(at + 16);
    constexpr int kUnix = 3, kFat = 0;
    row.is_link = host == kUnix && (attributes >> 16 & 0170000) == 0120000;
    at = take(source, size_t{name_bytes} + extra_bytes + comment_bytes);
    const std::string_view name(reinterpret_cast<const char*>(at), name_bytes);
    row.name = name.substr(0, name.find('\0'));
    // Some programs for Windows write \ instead of /. `unzip` corrects this, too.
    if (host == kFat && row.name.find('/') == std::string::npos)
      std::replace(row.name.begin(), row.name.end(), '\\', '/');
    auto extra = wide_numbers({at + name_bytes, extra_bytes});
    row.bytes = widened(bytes, extra);
    row.packed = widened(packed, extra);
    row.header = widened(header, extra);
    return true;
  }

  // Returns the 64-bit numbers in a row's extra fields, for values that do not fit into 32 bits.
  static std::span<const uint8_t> wide_numbers(std::span<const uint8_t> extra) {
    while (extra.size() >= 4) {
      const uint16_t kind = zip::number<uint16_t>(extra.data());
      const size_t bytes =
          std::min<size_t>(zip::number<uint16_t>(extra.data() + 2), extra.size() - 4);
      if (kind == zip::kExtra64) return extra.subspan(4, bytes);
      extra = extra.subspan(4 + bytes);
    }
    return {};
  }

  // Returns `value`, or the next of the 64-bit `numbers` if `value` is kIn64.
  uint64_t widened(uint32_t value, std::span<const uint8_t>& numbers) const {
    if (value != zip::kIn64) return value;
    if (numbers.size() < sizeof(uint64_t)) damaged("its directory lacks a size or an offset");
    const auto wide = zip::number<uint64_t>(numbers.data());
    numbers = numbers.subspan(sizeof wide);
    return wide;
  }

  void add(const ZipRow& row) {
    if (row.name.ends_with('/')) return;  // a folder
    const std::string name = plain_name(row.name);
    if (name.empty() || is_hidden(name) || name.starts_with("__MACOSX/")) {
      ++scan_.left_out.hidden;
      return;
    }
    const bool image = has_image_extension(name);
    const bool readable = !row.is_link && (row.flags & kZipEncrypted) == 0 &&
                          (row.method == zip::kStored || row.method == zip::kDeflated);
    if (!image && !readable) return scan_.left_out.add(name);
    check(row, ":" + name);
    ScanEntry entry;
    entry.offset = row.header;
    entry.bytes = row.bytes;
    entry.before = row.crc;
    if (row.method != zip::kStored)
      entry.behind = static_cast<uint32_t>(std::min<uint64_t>(row.packed, UINT32_MAX));
    if (!image && !begins_like_image(entry, name)) {
      scan_.left_out.add(name);
      if (archive_.empty() && (is_tar_name(name) || name.ends_with(".zip"))) archive_ = name;
      return;
    }
    scan_.add(entry, name);
  }

  // Refuses entries that cannot be read.
  void check(const ZipRow& row, const std::string& name) const {
    if (row.is_link) refuse(name + " is a symbolic link; make the zip without the option -y");
    if ((row.flags & kZipEncrypted) != 0)
      refuse(name + " is encrypted; unpack the zip, or make it without a password");
    if (row.method != zip::kStored && row.method != zip::kDeflated)
      refuse(name + " is compressed with method " + method_name(row.method) +
             "; unpack the zip, or make it with stored images (zip -0)");
    const uint64_t limit = directory_.offset, least = zip::kLocalHeaderBytes + row.packed;
    const bool outside = row.packed > limit || row.header > limit || least > limit - row.header;
    const bool wrong =
        row.method == zip::kStored ? row.packed != row.bytes : row.packed == 0 && row.bytes > 0;
    if (outside || wrong)
      damaged("its directory states a wrong size or offset of " + name.substr(1));
  }

  // Whether an entry's content begins like an image. Like is_image_file(), returns true if the
  // content is damaged: read() then reports the damage.
  bool begins_like_image(const ScanEntry& entry, const std::string& name) const {
    std::vector<uint8_t> head;
    try {
      const Image image{entry.offset, entry.bytes, 0, 0, entry.before, entry.behind};
      if (entry.bytes > 0)
        read_zip_entry(file_, image, std::min<uint64_t>(entry.bytes, kImageHead), head);
    } catch (const DamagedImage&) {
      return true;
    }
    return is_image(name, head);
  }

  // Refuses overlapping entries, because a small archive of them can unpack to huge content (a zip
  // bomb).
  void check_overlaps() const {
    const auto& entries = scan_.entries;
    std::vector<size_t> order(entries.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return entries[a].offset < entries[b].offset; });
    for (size_t i = 1; i < order.size(); ++i) {
      const ScanEntry &a = entries[order[i - 1]], &b = entries[order[i]];
      if (a.offset + zip::kLocalHeaderBytes + packed_bytes(a) > b.offset)
        damaged("its entries " + std::string(scan_.name(order[i - 1])) + " and " +
                std::string(scan_.name(order[i])) + " overlap");
    }
  }

  const File& file_;
  ZipDirectory directory_;
  std::vector<uint8_t> piece_;  // bytes of the directory
  size_t taken_ = 0;            // number of those that take() has returned
  std::string archive_;         // name of the first archive inside this one
  Scan scan_;
};

class ZipDataset : public ContainerDataset {
 public:
  using ContainerDataset::ContainerDataset;
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    const Image& p = image(sample);
    check_size(p);
    read_zip_entry(*open_file(p.file), p, p.bytes, bytes);
  }
  void will_read(int64_t first, int64_t count) const override {
    try {
      for (int64_t i = first; i < first + count; ++i) {
        const Image& p = image(i);
        const uint64_t packed = packed_bytes(p);
        open_file(p.file)->will_read(p.offset, zip::kLocalHeaderBytes + kZipNames + packed);
      }
    } catch (const std::runtime_error&) {  // read() will report it
    }
  }
};

}  // namespace

bool begins_zip(std::span<const uint8_t> head) {
  if (head.size() < sizeof(uint32_t)) return false;
  const auto signature = zip::number<uint32_t>(head.data());
  return signature == zip::kLocalHeader || signature == zip::kEnd;
}

bool is_zip(const File& file) {
  if (!file.path().ends_with(".zip")) return false;
  std::array<uint8_t, sizeof(uint32_t)> head{};
  file.read_at(0, head.data(), static_cast<int64_t>(head.size()));
  return begins_zip(head) || find_zip_end(file);
}

std::shared_ptr<const Dataset> open_zips(const std::vector<std::string>& paths,
                                         const OpenOptions& options) {
  std::vector<SourceFile> files = stamped(paths);
  std::vector<Scan> scans =
      scan_files("zip 1", files, options, [](const File& file) { return ZipScan(file).run(); });
  if (!options.split.empty()) keep_split(scans, files, options);
  Catalogue catalogue =
      options.unlabeled ? catalogue_unlabeled(scans) : catalogue_by_folder(files, scans, options);
  return std::make_shared<ZipDataset>(std::move(files), std::move(catalogue), options.reads);
}

}  // namespace shoal::data
