#include "data/records/record_parts.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "data/limits.h"

namespace shoal::data {
namespace {

bool read_head(const File& file, uint64_t at, PartHead& head) {
  return file.read_at(at, &head, sizeof head) == sizeof head && head.magic == PartHead::kMagic;
}

}  // namespace

bool begins_record_io(std::span<const uint8_t> bytes) {
  uint32_t magic = 0;
  if (bytes.size() < sizeof(PartHead)) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == PartHead::kMagic;
}

bool RecordIoReader::next(RecordExtent& record, std::vector<uint8_t>* payload) {
  record = {source_.position(), 0, 0, 0};
  if (payload != nullptr) payload->clear();
  for (bool first = true;; first = false) {
    PartHead head;
    const size_t known = source_.read(&head, sizeof head);
    if (known == 0 && first) return false;
    number_ += first ? 1 : 0;
    if (known < sizeof head) refuse("is cut short");
    if (head.magic != PartHead::kMagic) refuse("is damaged: it has a wrong magic number");
    if (head.kind() > PartHead::last || first != head.begins())
      refuse("is damaged: its parts are out of order");
    record.bytes += head.bytes() + (first ? 0 : sizeof PartHead::kMagic);
    ++record.parts;
    if (payload == nullptr) {
      if (source_.skip(head.bytes()) < head.bytes()) refuse("is cut short");
    } else {
      if (record.bytes > static_cast<uint64_t>(kMaxFileBytes))
        refuse("is too large for an image's record");
      const auto* const magic = reinterpret_cast<const uint8_t*>(&PartHead::kMagic);
      if (!first) payload->insert(payload->end(), magic, magic + sizeof PartHead::kMagic);
      if (!append_bytes(source_, head.bytes(), *payload)) refuse("is cut short");
    }
    source_.skip(head.padded() - head.bytes());  // some files lack the padding at their end
    if (head.ends()) break;
  }
  record.end = source_.position();
  return true;
}

void RecordIoReader::refuse(int64_t number, const std::string& what) const {
  throw std::invalid_argument(source_.name() + ":record " + std::to_string(number) + " " + what +
                              " (before byte " + std::to_string(source_.position()) + ")");
}

bool read_payload(const File& file, uint64_t record, uint64_t from, uint8_t* to, uint64_t bytes) {
  PartHead head;
  for (uint64_t at = record, place = 0; bytes > 0; at += sizeof head + head.padded()) {
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
