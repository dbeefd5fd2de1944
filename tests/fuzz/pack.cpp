// Fuzzes packed sets: opens and reads them. The first byte decides whether to correct the header's
// checksum, so that the code after that check is reached.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/errors.h"
#include "data/pack/reader.h"

using namespace shoal::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  PackHeader header;
  if ((data[0] & 1) != 0 && bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(header.magic, kPackMagic, sizeof header.magic);
    header.version = kPackVersion;
    header.header_bytes = sizeof header;
    header.end = bytes.size();
    if (header.table <= bytes.size())
      header.check = pack_check(header, std::span(bytes).subspan(header.table));
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  static const int file = ::memfd_create("pack", 0);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    const PackedDataset pack(path);
    std::vector<uint8_t> image;
    jpeg::SeekIndex index;
    for (int64_t i = 0; i < pack.size(); ++i) {
      if (pack.entry(i).kind > Packed::pixels) __builtin_trap();  // an index in `pack --info`
      pack.name(i);
      const int32_t label = pack.label(i);
      if (label < 0 || static_cast<size_t>(label) >= pack.classes().size()) __builtin_trap();
      pack.seek_index(i, index);
      try {
        pack.read(i, image);
      } catch (const DamagedImage&) {
      }
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
