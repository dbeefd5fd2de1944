#include "data/sources/archives/zip_directory.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "base/format/zip_format.h"

namespace shoal::data {
namespace {

constexpr size_t kZipPiece = size_t{1} << 20;  // bytes of the directory to read at a time

// Reads a part of the zip that must be complete.
void read_part(const File& file, uint64_t offset, std::span<uint8_t> to) {
  const auto bytes = static_cast<int64_t>(to.size());
  if (file.read_at(offset, to.data(), bytes) < bytes)
    damaged_zip(file, "a part of this zip is missing");
}

// Returns the 64-bit numbers in a row's extra fields, for values that do not fit into 32 bits.
std::span<const uint8_t> wide_numbers(std::span<const uint8_t> extra) {
  while (extra.size() >= 4) {
    const uint16_t kind = zip::number<uint16_t>(extra.data());
    const size_t bytes =
        std::min<size_t>(zip::number<uint16_t>(extra.data() + 2), extra.size() - 4);
    if (kind == zip::kExtra64) return extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
  }
  return {};
}

}  // namespace

std::optional<uint64_t> find_zip_end(const File& file) {
  const auto size = static_cast<uint64_t>(file.stamp().bytes);
  std::vector<uint8_t> tail(std::min(size, zip::kMaxComment + zip::kEndBytes));
  const uint64_t begin = size - tail.size();
  const int64_t count = file.read_at(begin, tail.data(), static_cast<int64_t>(tail.size()));
  tail.resize(static_cast<size_t>(count));
  // First pass: the archive's comment ends at the end of the file. Second pass: it ends earlier.
  for (const bool exact : {true, false}) {
    for (size_t end = tail.size(); end >= zip::kEndBytes; --end) {
      const uint8_t* const at = tail.data() + end - zip::kEndBytes;
      const size_t behind = tail.size() - end, comment = zip::number<uint16_t>(at + 20);
      if (zip::number<uint32_t>(at) == zip::kEnd && (exact ? comment == behind : comment < behind))
        return begin + end - zip::kEndBytes;
    }
  }
  return std::nullopt;
}

void refuse_zip(const File& file, const std::string& what) {
  throw std::invalid_argument(file.path() + what);
}

void damaged_zip(const File& file, const std::string& what) {
  refuse_zip(file, " is damaged or cut short: " + what + "; download or make it again");
}

ZipDirectory::ZipDirectory(const File& file)
    : file_(file), place_(find(file)), source_(file, place_.offset, place_.offset + place_.bytes) {}

ZipDirectory::Place ZipDirectory::find(const File& file) {
  const std::optional<uint64_t> end = find_zip_end(file);
  if (!end) damaged_zip(file, "this zip has no directory");
  uint64_t limit = *end;
  std::array<uint8_t, zip::kEndBytes> record{};
  const uint8_t* const at = record.data();
  read_part(file, limit, record);
  Place directory{zip::number<uint32_t>(at + 16), zip::number<uint32_t>(at + 12),
                  zip::number<uint16_t>(at + 10), false};
  bool split = zip::number<uint16_t>(at + 4) != 0 || zip::number<uint16_t>(at + 6) != 0 ||
               zip::number<uint16_t>(at + 8) != directory.rows;
  if (limit >= zip::kLocator64Bytes) {
    read_part(file, limit - zip::kLocator64Bytes, std::span(record).first(zip::kLocator64Bytes));
    if (zip::number<uint32_t>(at) == zip::kLocator64) {
      split = zip::number<uint32_t>(at + 16) > 1;
      limit = zip::number<uint64_t>(at + 8);
      if (!split) directory = find_wide(file, limit, *end - zip::kLocator64Bytes);
    }
  }
  if (split)
    refuse_zip(file,
               " is a part of a split zip; join the parts (zip -s 0 FILE.zip --out WHOLE.zip)");
  if (directory.offset > limit || directory.bytes > limit - directory.offset)
    damaged_zip(file, "its directory is beyond its end");
  return directory;
}

// Reads the end record with 64-bit numbers at `offset`. It must end before `limit`.
ZipDirectory::Place ZipDirectory::find_wide(const File& file, uint64_t offset, uint64_t limit) {
  std::array<uint8_t, zip::kEnd64Bytes> record{};
  const uint8_t* const at = record.data();
  const bool outside = limit < record.size() || offset > limit - record.size();
  if (!outside) read_part(file, offset, record);
  if (outside || zip::number<uint32_t>(at) != zip::kEnd64)
    damaged_zip(file, "its end record is wrong");
  return {zip::number<uint64_t>(at + 48), zip::number<uint64_t>(at + 40),
          zip::number<uint64_t>(at + 32), true};
}

// Returns the next bytes of the directory, valid until the next call.
const uint8_t* ZipDirectory::take(size_t bytes) {
  if (piece_.size() - taken_ < bytes) {
    piece_.erase(piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
    append_bytes(source_, kZipPiece, piece_);
    if (piece_.size() < bytes) damaged_zip(file_, "its directory has no end");
  }
  taken_ += bytes;
  return piece_.data() + taken_ - bytes;
}

bool ZipDirectory::next(ZipRow& row) {
  if (taken_ == piece_.size() && source_.position() == place_.offset + place_.bytes) {
    check_rows();
    return false;
  }
  const uint8_t* at = take(zip::kDirectoryEntryBytes);
  if (zip::number<uint32_t>(at) != zip::kDirectoryEntry)
    damaged_zip(file_, "its directory is wrong");
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
  at = take(size_t{name_bytes} + extra_bytes + comment_bytes);
  const std::string_view name(reinterpret_cast<const char*>(at), name_bytes);
  row.name = name.substr(0, name.find('\0'));
  // Some programs for Windows write \ instead of /. `unzip` corrects this, too.
  if (host == kFat && row.name.find('/') == std::string::npos)
    std::replace(row.name.begin(), row.name.end(), '\\', '/');
  auto extra = wide_numbers({at + name_bytes, extra_bytes});
  row.bytes = widened(bytes, extra);
  row.packed = widened(packed, extra);
  row.header = widened(header, extra);
  ++rows_;
  return true;
}

// Checks that the directory has as many rows as the end record states.
void ZipDirectory::check_rows() const {
  if (place_.is64 ? rows_ != place_.rows : rows_ % 65536 != place_.rows)
    damaged_zip(file_, "its directory has " + std::to_string(rows_) + " entries instead of " +
                           std::to_string(place_.rows));
}

// Returns `value`, or the next of the 64-bit `numbers` if `value` is kIn64.
uint64_t ZipDirectory::widened(uint32_t value, std::span<const uint8_t>& numbers) const {
  if (value != zip::kIn64) return value;
  if (numbers.size() < sizeof(uint64_t))
    damaged_zip(file_, "its directory lacks a size or an offset");
  const auto wide = zip::number<uint64_t>(numbers.data());
  numbers = numbers.subspan(sizeof wide);
  return wide;
}

}  // namespace shoal::data
