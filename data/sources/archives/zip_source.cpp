// A zip archive consists of entries and a directory (zip_directory.h). An entry consists of a local
// header and its content. The length of the local header is not in the directory, so reading an
// image starts with its local header. Listing reads only the directory, and the first bytes of
// files without an image extension.
#include "data/sources/archives/zip_source.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/format/zip_format.h"
#include "data/container/catalogue.h"
#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/container/inflate.h"
#include "data/container/scan_files.h"
#include "data/errors.h"
#include "data/limits.h"
#include "data/sources/archives/split_folder.h"
#include "data/sources/archives/zip_directory.h"
#include "data/sources/folder_names.h"
#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

constexpr uint64_t kZipNames = 256;         // bytes for name and extra field; they rarely need more
constexpr uint16_t kZipEncrypted = 0x2041;  // bits: encrypted, strong encryption, masked headers

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
// checks the CRC-32. In entries of zips, `offset` is the offset of the local header, `before` is
// the CRC-32, and `behind` is the size of the compressed content, or 0 if the content is stored.
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
  explicit ZipScan(const File& file) : file_(file), directory_(file) {}

  Scan run() {
    for (ZipRow row; directory_.next(row);) add(row);
    check_overlaps();
    if (scan_.size() == 0 && !archive_.empty())
      refuse_zip(file_,
                 " contains the archive " + archive_ + " but no image; unpack the outer zip");
    return std::move(scan_);
  }

 private:
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
    if (row.is_link)
      refuse_zip(file_, name + " is a symbolic link; make the zip without the option -y");
    if ((row.flags & kZipEncrypted) != 0)
      refuse_zip(file_, name + " is encrypted; unpack the zip, or make it without a password");
    if (row.method != zip::kStored && row.method != zip::kDeflated)
      refuse_zip(file_, name + " is compressed with method " + method_name(row.method) +
                            "; unpack the zip, or make it with stored images (zip -0)");
    const uint64_t limit = directory_.offset(), least = zip::kLocalHeaderBytes + row.packed;
    const bool outside = row.packed > limit || row.header > limit || least > limit - row.header;
    const bool wrong =
        row.method == zip::kStored ? row.packed != row.bytes : row.packed == 0 && row.bytes > 0;
    if (outside || wrong)
      damaged_zip(file_, "its directory states a wrong size or offset of " + name.substr(1));
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
        damaged_zip(file_, "its entries " + std::string(scan_.name(order[i - 1])) + " and " +
                               std::string(scan_.name(order[i])) + " overlap");
    }
  }

  const File& file_;
  ZipDirectory directory_;
  std::string archive_;  // name of the first archive inside this one
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
