#pragma once
// `shoal inspect` of an ONNX model.

#include <string>
#include <vector>

namespace shoal::app {

// Prints what the model contains; with `json` as JSON. `tensors`: also lists its initializers.
// Throws std::runtime_error if the bytes are not an ONNX model.
void inspect_onnx(const std::string& file, const std::vector<char>& bytes, bool json, bool tensors);

}  // namespace shoal::app
