#pragma once
// Reads a file of Python's torch.save as plain values and tensors: the zip format of PyTorch 1.6
// and later, and the older one. Executes nothing in the file and copies no tensor. Does not use
// LibTorch. Source: PyTorch's torch/serialization.py.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "train/weights/formats/memory_budget.h"
#include "train/weights/formats/pickle.h"
#include "train/weights/formats/stored_tensor.h"

namespace shoal::train {

inline constexpr const char* kTorchSaveFile = "a whole file of torch.save";  // for parse_file()

// Whether the bytes start like a file of PyTorch before 1.6.
bool is_legacy_torch_file(std::span<const char> bytes);

// Returns the call that creates a tensor; null if the value is not a tensor or parameter.
const PickleValue* tensor_call(const PickleValue* value);

class TorchArchive {
 public:
  // `bytes` must outlive the archive. Throws std::runtime_error if they are no torch.save file, and
  // UserError if they refer to a function that can run code (forbidden_functions.h).
  explicit TorchArchive(std::span<const char> bytes);

  const PickleValue& root() const { return object_->root(); }

  // Returns the tensor that `call`, a result of tensor_call(), creates. It points into `bytes`.
  // Throws std::runtime_error if its dtype is not supported, or if its storage is missing or too
  // short.
  StoredTensor tensor(const PickleValue& call, const std::string& name);

  // Call it before copying something out of the pickle. All tensors and texts of an archive share a
  // budget of 64 MiB + 4 × the file's size. Without it, a small file could make its reader allocate
  // any amount, because many entries may share one storage or text. Throws std::runtime_error when
  // the budget is used up.
  void spend(size_t bytes) { budget_.spend(bytes); }

 private:
  using Storages = std::function<std::span<const char>(const std::string& key)>;
  void open_zip(std::span<const char> bytes);
  void open_legacy(std::span<const char> bytes);

  std::unique_ptr<Pickle> object_;
  Storages storages_;
  MemoryBudget budget_;
};

}  // namespace shoal::train
