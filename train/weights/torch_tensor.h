#pragma once
// Reads the zip format of Python's torch.save (PyTorch 1.6 and later), which contains a pickle and
// storages, and creates tensors from storages of either format. Does not execute anything in the
// file. Source: PyTorch's torch/serialization.py.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/weights/pickle.h"

namespace shoal::train {

// The bytes of one storage. `owner` keeps them alive.
struct Storage {
  const char* data = nullptr;
  size_t bytes = 0;
  at::DataPtr owner;
};
// Returns the storage with a key. Throws std::exception if there is none.
using Storages = std::function<Storage(const std::string& key)>;

// Returns the pickled call that creates a tensor; null if `value` is not a tensor.
const PickleValue* tensor_call(const PickleValue* value);

// Creates the tensor of a tensor_call(). Returns a contiguous CPU copy. Throws std::runtime_error
// that contains `name` if the tensor does not lie inside its storage.
at::Tensor make_tensor(const Storages& storages, const PickleValue& call, const std::string& name);

// Returns the element type of a storage class such as "torch FloatStorage". Throws
// std::runtime_error for unsupported ones.
at::ScalarType storage_type(const std::string& name);

[[noreturn]] void throw_bad_storage(const std::string& name);

// A zip file of torch.save.
class TorchArchive {
 public:
  // `bytes` must outlive the archive. Throws std::exception if they are not such a file.
  explicit TorchArchive(const std::vector<char>& bytes);
  ~TorchArchive();

  const PickleValue& root() const;
  const Storages& storages() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::train
