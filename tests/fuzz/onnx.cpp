// Fuzzes the reader of ONNX models that `shoal inspect` uses.
#include <cstdint>
#include <stdexcept>

#include "train/weights/onnx/onnx_summary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    shoal::train::onnx_summary({reinterpret_cast<const char*>(data), size}, "model.onnx");
  } catch (const std::runtime_error&) {
  }
  return 0;
}
