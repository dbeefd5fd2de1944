#include "train/weights/formats/torch_tensor.h"

#include <ATen/ops/empty.h>

namespace shoal::train {
namespace {

at::ScalarType scalar_type(Element element) {
  switch (element) {
    case Element::f64:
      return at::kDouble;
    case Element::f32:
      return at::kFloat;
    case Element::f16:
      return at::kHalf;
    case Element::bf16:
      return at::kBFloat16;
    case Element::i64:
      return at::kLong;
    case Element::i32:
      return at::kInt;
    case Element::i16:
      return at::kShort;
    case Element::i8:
      return at::kChar;
    case Element::u8:
      return at::kByte;
    default:
      return at::kBool;
  }
}

}  // namespace

at::Tensor copied_tensor(const StoredTensor& tensor) {
  at::Tensor copy = at::empty(tensor.sizes, scalar_type(tensor.element));
  copy_elements(tensor, copy.mutable_data_ptr());
  return copy;
}

NamedTensors copied_tensors(const StoredTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) copies.emplace_back(name, copied_tensor(tensor));
  return copies;
}

}  // namespace shoal::train
