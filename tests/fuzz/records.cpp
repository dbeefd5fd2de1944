// Fuzzes files of RecordIO, TFRecord and CIFAR. The first byte chooses the format and whether to
// correct a TFRecord's checksums, so that the code after their check is reached.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file/crc32c.h"
#include "data/errors.h"
#include "data/records/cifar.h"
#include "data/records/record_io.h"
#include "data/records/tf_record.h"

using namespace shoal;
using namespace shoal::data;

namespace {

void correct_checksums(std::vector<uint8_t>& bytes) {
  for (size_t at = 0; at + 16 <= bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    const uint32_t head = masked_crc(crc32c(0, bytes.data() + at, 8));
    std::memcpy(bytes.data() + at + 8, &head, 4);
    if (length > bytes.size() - at - 16) return;
    const uint32_t check = masked_crc(crc32c(0, bytes.data() + at + 12, length));
    std::memcpy(bytes.data() + at + 12 + length, &check, 4);
    at += 16 + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 3) == 3) correct_checksums(bytes);
  static const int file = ::memfd_create("records", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  OpenOptions options;
  options.threads = 1;
  options.in_order = true;
  try {
    const auto opened = data[0] == 0x80 ? open_cifar({path}, options)
                        : data[0] & 1   ? open_tf_records({path}, options)
                                        : open_record_io({path}, options);
    std::vector<uint8_t> image;
    for (int64_t i = 0; i < opened->size(); ++i) {
      try {
        opened->read(i, image);
      } catch (const DamagedImage&) {
      }
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
