#pragma once
// Copies stored tensors (stored_tensor.h) to LibTorch tensors.

#include "train/weights/checkpoint_file.h"
#include "train/weights/formats/stored_tensor.h"

namespace shoal::train {

// Both return contiguous CPU copies with the stored dtypes.
at::Tensor copied_tensor(const StoredTensor& tensor);
NamedTensors copied_tensors(const StoredTensors& tensors);

}  // namespace shoal::train
