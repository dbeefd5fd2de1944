#pragma once
// The format of a checkpoint: a zip that Python's torch.load(weights_only=True) opens as a dict.
//
//   {"model": {torchvision's names → tensors}, "ema": {as "model"} (only with averaged weights),
//    "optimizer": {"momentum": {parameter name → tensor}, …}, "integers": {…}, "numbers": {…},
//    "text": {…}, "classes": [names], "settings": {name → text}, "arch": …, "epoch": …, "step": …}
//
// All tensors are contiguous CPU copies. "epoch" is the epoch to start or continue, "step" the
// number of finished steps.

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

  // Whether shoal wrote the file. read_weights() sets text["arch"] only for files of shoal.
  bool is_ours() const { return text.contains("arch"); }

  // Return an entry. Throw std::runtime_error that names the entry if it is missing.
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  const std::string& string(const std::string& name) const;
};

// Writes a checkpoint. Passes the bytes to `sink` in order, and rethrows its exceptions.
void write_checkpoint(const CheckpointData& data,
                      const std::function<void(const void*, size_t)>& sink);

// Writes only a state dict: torch.load(weights_only=True) returns {name → tensor}.
void write_state_dict(const NamedTensors& tensors,
                      const std::function<void(const void*, size_t)>& sink);

// Parses a checkpoint. `where` appears in messages. Throws std::runtime_error if the bytes are not
// a checkpoint of shoal.
CheckpointData read_checkpoint(const std::vector<char>& bytes, const std::string& where);

}  // namespace shoal::train
