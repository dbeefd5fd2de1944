// Fuzzes zips: lists the images and reads them.
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "data/errors.h"
#include "data/sources/archives/zip_source.h"
#include "tests/fuzz/support/memory_file.h"

using namespace shoal;
using namespace shoal::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::MemoryFile file;
  file.fill(std::span(data, size));
  OpenOptions options;
  options.threads = 1;
  options.unlabeled = true;
  try {
    const auto opened = open_zips({file.path()}, options);
    std::vector<uint8_t> image;
    for (int64_t i = 0; i < opened->size(); ++i) {
      try {
        opened->read(i, image);
        if (static_cast<int64_t>(image.size()) != opened->encoded_bytes(i)) __builtin_trap();
      } catch (const DamagedImage&) {
      }
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
