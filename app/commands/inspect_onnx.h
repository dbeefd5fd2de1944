#pragma once
// `shoal inspect` of an ONNX model.

#include <string>
#include <vector>

namespace shoal::app {

// Prints what the ONNX model in `bytes` contains, as text or as JSON. `file`: its path, for the
// output. `tensors`: also lists the initializers. Throws std::runtime_error if `bytes` is not an
// ONNX model.
void inspect_onnx(const std::string& file, const std::vector<char>& bytes, bool json, bool tensors);

}  // namespace shoal::app
