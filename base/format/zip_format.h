#pragma once
// Signatures and sizes of the records of a zip archive (PKWARE's APPNOTE.TXT). All numbers are
// little-endian.

#include <cstdint>
#include <cstring>

namespace shoal::zip {

enum Signature : uint32_t {
  kLocalHeader = 0x04034b50,
  kDirectoryEntry = 0x02014b50,
  kEnd = 0x06054b50,
  kEnd64 = 0x06064b50,
  kLocator64 = 0x07064b50,
};
// Sizes in bytes, without the names, extra fields and comments that follow.
constexpr uint64_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46, kEndBytes = 22,
                   kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kMaxComment = 65535;         // bytes of the comment at the archive's end
constexpr uint16_t kStored = 0, kDeflated = 8;  // compression methods
constexpr uint16_t kExtra64 = 1;                // ID of the extra field with 64-bit numbers
constexpr uint32_t kIn64 = UINT32_MAX;          // means: the number is in extra field kExtra64

// Returns the number at `at`, which need not be aligned.
template <class T>
T number(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace shoal::zip
