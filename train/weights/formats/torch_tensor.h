#pragma once
// Copies stored tensors (stored_tensor.h) to LibTorch's.

#include "train/weights/checkpoint_file.h"
#include "train/weights/formats/stored_tensor.h"

namespace shoal::train {

// Returns a contiguous CPU copy.
at::Tensor copied_tensor(const StoredTensor& tensor);
NamedTensors copied_tensors(const StoredTensors& tensors);

}  // namespace shoal::train
