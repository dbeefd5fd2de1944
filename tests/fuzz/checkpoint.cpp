// Fuzzes checkpoints of shoal.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "train/weights/checkpoint_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    shoal::train::read_checkpoint(std::vector<char>(data, data + size), "checkpoint");
  } catch (const std::runtime_error&) {
  }
  return 0;
}
