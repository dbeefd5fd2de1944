// Fuzzes files of torch.save, zip or older: opens the file and reads the tensors of a state dict.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "train/weights/formats/state_dict.h"

using namespace shoal::train;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  for (const char* entry : {"", "model"}) {
    try {
      TorchArchive file(bytes);
      for (const auto& [name, tensor] : find_state_dict(file, entry).tensors) {
        std::vector<char> copy(tensor.bytes());
        copy_elements(tensor, copy.data());
      }
    } catch (const std::runtime_error&) {
    }
  }
  return 0;
}
