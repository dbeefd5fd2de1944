// Fuzzes safetensors files. The first byte decides whether to correct the header's length, so that
// the code after the length check is reached. The corrected header ends at the last brace.
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "train/weights/formats/safetensors_header.h"

using namespace shoal::train;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 9) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) {
    const size_t brace = bytes.rfind('}');
    const uint64_t length = brace == bytes.npos || brace < 8 ? 2 : brace - 7;
    std::memcpy(bytes.data(), &length, sizeof length);
  }
  const std::vector<char> exact(bytes.begin(), bytes.end());
  try {
    for (const auto& [name, tensor] : read_safetensors_header(exact).tensors) {
      std::vector<char> copy(tensor.bytes());
      copy_elements(tensor, copy.data());
    }
  } catch (const std::exception&) {  // includes the JSON library's own exceptions
  }
  return 0;
}
