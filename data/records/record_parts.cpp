#include "data/records/record_parts.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace shoal::data {
namespace {

bool read_head(const File& file, uint64_t at, PartHead& head) {
  return file.read_at(at, &head, sizeof head) == sizeof head && head.magic == PartHead::kMagic;
}

}  // namespace

RecordExtent find_record(const File& file, uint64_t at, uint64_t file_bytes) {
  RecordExtent record;
  record.begin = at;
  const auto refuse = [&](const char* what) {
    throw std::invalid_argument(file.path() + " " + what + " (at byte " + std::to_string(at) + ")");
  };
  for (record.parts = 0;;) {
    PartHead head;
    if (file_bytes - at < sizeof head) refuse("is cut short in a record");
    if (!read_head(file, at, head)) refuse("is damaged: no record begins where one must");
    const bool first = record.parts == 0;
    if (head.kind() > PartHead::last || first != head.begins())
      refuse("is damaged: the parts of a record do not fit");
    // The very last filling may be missing.
    if (head.bytes() > file_bytes - at - sizeof head) refuse("is cut short in a record");
    record.bytes += head.bytes() + (first ? 0 : sizeof PartHead::kMagic);
    ++record.parts;
    at += sizeof head + head.filled();
    if (head.ends()) break;
    if (at > file_bytes) refuse("is cut short in a record");
  }
  record.end = std::min(at, file_bytes);
  return record;
}

bool read_payload(const File& file, uint64_t record, uint64_t from, uint8_t* to, uint64_t bytes) {
  PartHead head;
  for (uint64_t at = record, place = 0; bytes > 0; at += sizeof head + head.filled()) {
    if (!read_head(file, at, head)) return false;
    if (at != record) {  // the magic number between two parts
      for (size_t i = 0; i < sizeof PartHead::kMagic; ++i, ++place) {
        if (place < from || bytes == 0) continue;
        *to++ = static_cast<uint8_t>(PartHead::kMagic >> 8 * i);
        --bytes;
      }
    }
    const uint64_t skipped = from > place ? std::min<uint64_t>(from - place, head.bytes()) : 0;
    const uint64_t count = std::min<uint64_t>(bytes, head.bytes() - skipped);
    if (file.read_at(at + sizeof head + skipped, to, static_cast<int64_t>(count)) !=
        static_cast<int64_t>(count))
      return false;
    to += count;
    bytes -= count;
    place += head.bytes();
    if (head.ends()) break;
  }
  return bytes == 0;
}

}  // namespace shoal::data
