#pragma once
// The bytes of one checkpoint: a zip that Python's torch.load(weights_only=True) opens as a dict.
//
//   {"model": {torchvision's names → tensors}, "ema": {the same} when an average is kept,
//    "optimizer": {"momentum": {parameter name → tensor}, …}, "integers": {…}, "numbers": {…},
//    "text": {…}, "classes": [names], "settings": {name → text}, "arch": …, "epoch": …, "step": …}
// All tensors are contiguous copies on the CPU. Epoch is the one to start or continue, step the
// updates done.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal::train {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

struct CheckpointData {
  NamedTensors model, ema;
  std::vector<std::pair<std::string, NamedTensors>> optimizer;
  std::map<std::string, int64_t> integers;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> text;
  std::vector<std::string> classes;
  std::vector<std::pair<std::string, std::string>> settings;

  // Throw std::runtime_error that names the missing entry.
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  const std::string& string(const std::string& name) const;
};

void write_checkpoint(const CheckpointData& data,
                      const std::function<void(const void*, size_t)>& sink);

// `where` stands in messages. Throws std::runtime_error when the bytes are no checkpoint of this
// program.
CheckpointData read_checkpoint(const std::vector<char>& bytes, const std::string& where);

}  // namespace shoal::train
