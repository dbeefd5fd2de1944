#include "data/pack/reader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "base/hash.h"
#include "base/parallel.h"
#include "data/errors.h"
#include "data/jpeg/index_codec.h"
#include "data/split.h"

namespace shoal::data {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw std::invalid_argument(path + " " + reason);
}

void read_or_refuse(const File& file, uint64_t offset, void* to, uint64_t bytes) {
  if (file.read_at(offset, to, static_cast<int64_t>(bytes)) < static_cast<int64_t>(bytes))
    refuse(file.path(), "has become shorter");
}

}  // namespace

uint64_t pack_check(const PackHeader& header, std::span<const uint8_t> behind) {
  PackHeader plain = header;
  plain.check = 0;
  return combine(hash_bytes(&plain, sizeof plain),
                 hash_bytes(behind.data(), static_cast<int64_t>(behind.size())));
}

PackedDataset::PackedDataset(const std::string& path) : path_(path), file_(path, Reads::scattered) {
  if (!file_.is_regular()) refuse(path, "is not a packed set");
  const auto bytes = static_cast<uint64_t>(file_.stamp().bytes);
  if (bytes == 0) refuse(path, "is empty");
  PackHeader& header = header_;
  if (bytes >= sizeof header) read_or_refuse(file_, 0, &header, sizeof header);
  if (std::memcmp(header.magic, kPackMagic, sizeof kPackMagic) != 0)
    refuse(path, "is not a packed set");
  if (header.version != kPackVersion || header.header_bytes != sizeof header)
    refuse(path, "is a packed set of version " + std::to_string(header.version) +
                     "; this program reads version " + std::to_string(kPackVersion) +
                     ": pack it again with `shoal pack`");
  if (header.end != bytes)
    refuse(path, "has " + std::to_string(bytes) + " of " + std::to_string(header.end) +
                     " bytes: it is incomplete; copy or pack it again");
  const bool ordered = header.table % alignof(PackEntry) == 0 && header.table <= header.text &&
                       header.text <= header.end &&
                       header.samples == (header.text - header.table) / sizeof(PackEntry);
  if (ordered && header.samples > 0) {
    table_.resize(header.end - header.table);
    read_or_refuse(file_, header.table, table_.data(), table_.size());
  }
  if (table_.empty() || header.check != pack_check(header, table_))
    refuse(path, "is damaged: its table has a wrong checksum");
  entries_ = {reinterpret_cast<const PackEntry*>(table_.data()), header.samples};
  uint64_t at = header.text;
  const auto next = [&] {
    std::string text = text_at(at);
    at += 4 + text.size();
    return text;
  };
  for (uint64_t i = 0; i < header.classes; ++i) classes_.push_back(next());
  names_.reserve(header.samples);
  for (uint64_t i = 0; i < header.samples; ++i) {
    names_.push_back(at);
    next();
    const PackEntry& e = entries_[i];
    if (e.offset > header.end || uint64_t{e.bytes} + e.index_bytes > header.end - e.offset)
      refuse(path, "is damaged: its table points outside the file");
    if (e.label < 0 || static_cast<uint64_t>(e.label) >= header.classes)
      refuse(path, "is damaged: image " + std::to_string(i) + " has no class");
    if (e.kind > Packed::pixels)
      refuse(path, "is damaged: image " + std::to_string(i) + " is of an unknown kind");
  }
  if (at < header.end) request_ = next();
  checked_ = std::make_unique<std::atomic<bool>[]>(header.samples);
}

// Returns the text at `offset` in the file. The offset must be in the part that table_ holds.
std::string PackedDataset::text_at(uint64_t offset) const {
  const uint64_t left = header_.end - offset;
  const uint8_t* at = table_.data() + (offset - header_.table);
  uint32_t length = 0;
  if (left >= sizeof length) std::memcpy(&length, at, sizeof length);
  if (left < sizeof length || length > left - sizeof length)
    refuse(path_, "is damaged: its table points outside the file");
  return {reinterpret_cast<const char*>(at) + sizeof length, length};
}

std::string PackedDataset::name(int64_t sample) const {
  return path_ + ":" + text_at(names_[static_cast<size_t>(sample)]);
}

std::string PackedDataset::key(int64_t sample) const {
  const std::string text = text_at(names_[static_cast<size_t>(sample)]);
  const std::string& class_name = classes_[static_cast<size_t>(label(sample))];
  // In files from early versions, the text is the image's absolute path instead of its key.
  return text.starts_with('/') ? split_key(class_name, text) : split_key_of_path(class_name, text);
}

void PackedDataset::read_part(uint64_t offset, uint64_t bytes, std::vector<uint8_t>& to) const {
  to.resize(bytes);
  read_fully(file_, offset, to.data(), static_cast<int64_t>(bytes));
}

void PackedDataset::read_checked(int64_t sample, std::vector<uint8_t>& bytes) const {
  const PackEntry& e = entry(sample);
  read_part(e.offset, uint64_t{e.bytes} + e.index_bytes, bytes);
  if (hash_bytes(bytes.data(), static_cast<int64_t>(bytes.size())) != e.check)
    throw DamagedImage("its bytes have a wrong checksum");
  checked_[static_cast<size_t>(sample)].store(true, std::memory_order_relaxed);
  bytes.resize(e.bytes);
}

void PackedDataset::read(int64_t sample, std::vector<uint8_t>& bytes) const {
  const PackEntry& e = entry(sample);
  const bool known_pixels = e.kind == Packed::pixels &&
                            checked_[static_cast<size_t>(sample)].load(std::memory_order_relaxed);
  if (!known_pixels) return read_checked(sample, bytes);
  read_part(e.offset, e.bytes, bytes);
}

void PackedDataset::will_read(int64_t first, int64_t count) const {
  const PackEntry& last = entry(first + count - 1);
  const uint64_t begin = entry(first).offset, end = last.offset + last.bytes + last.index_bytes;
  if (end > begin) file_.will_read(begin, end - begin);
}

bool PackedDataset::seek_index(int64_t sample, jpeg::SeekIndex& index) const {
  const PackEntry& e = entry(sample);
  if (e.index_bytes == 0) return false;
  thread_local std::vector<uint8_t> packed;  // reuses its memory
  read_part(e.offset + e.bytes, e.index_bytes, packed);
  return jpeg::unpack_index(packed, index);
}

bool is_packed_set(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // opening a pipe would block
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  return file.read(magic, sizeof magic) && std::memcmp(magic, kPackMagic, sizeof magic) == 0;
}

int64_t verify_pack(const PackedDataset& pack, int threads,
                    const std::function<void(const std::string&)>& damaged) {
  int64_t bad = 0;
  std::mutex one_at_a_time;
  for_each_index(static_cast<size_t>(pack.size()), threads, [&](size_t i) {
    thread_local std::vector<uint8_t> bytes;  // reuses its memory
    const auto sample = static_cast<int64_t>(i);
    try {
      pack.read_checked(sample, bytes);
    } catch (const DamagedImage& damage) {
      const std::lock_guard lock(one_at_a_time);
      ++bad;
      damaged(pack.name(sample) + ": " + damage.what());
    }
  });
  return bad;
}

}  // namespace shoal::data
