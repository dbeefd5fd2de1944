// Fuzzes tars: lists them and reads them as WebDataset shards. The first byte decides whether to
// correct the headers' checksums, so that the code after that check is reached.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/tar/sample.h"
#include "data/tar/tar_reader.h"
#include "data/tar/webdataset.h"

using namespace shoal::data;

namespace {

void correct_checksum(uint8_t* header) {
  unsigned sum = 8 * ' ';
  for (int i = 0; i < 512; ++i) sum += i < 148 || i >= 156 ? header[i] : 0u;
  std::snprintf(reinterpret_cast<char*>(header) + 148, 7, "%06o", sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  if (data[0] & 1)
    for (size_t at = 0; at + 512 <= bytes.size(); at += 512)
      if (bytes[at] != 0) correct_checksum(bytes.data() + at);
  static const int memory = ::memfd_create("tar", MFD_CLOEXEC);
  if (::ftruncate(memory, 0) != 0 || ::pwrite(memory, bytes.data(), bytes.size(), 0) < 0) return 0;
  static const File file(shoal::Descriptor(memory), "fuzzed");
  try {
    const auto keep = [](std::string_view name, uint64_t length) {
      return is_label_name(name) && length <= kMaxSampleLabel ? length : 0;
    };
    const auto members = list_tar(file, 0, bytes.size(), keep);
    for (const TarMember& member : members)
      if (member.bytes > bytes.size() || member.offset > bytes.size() - member.bytes)
        __builtin_trap();
    if (is_webdataset(members)) scan_webdataset(file.path(), members);
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
