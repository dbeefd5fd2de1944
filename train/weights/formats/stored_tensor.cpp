#include "train/weights/formats/stored_tensor.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace shoal::train {
namespace {

constexpr size_t kMaxDimensions = 16;
// Limit for the product of an empty tensor's nonzero sizes.
constexpr uint64_t kMaxEmpty = uint64_t{1} << 40;

bool is_contiguous(const StoredTensor& tensor) {
  int64_t expected = 1;
  for (size_t d = tensor.strides.size(); d-- > 0; expected *= tensor.sizes[d])
    if (tensor.sizes[d] != 1 && tensor.strides[d] != expected) return false;
  return true;
}

// Copies the elements of dimensions `d` and higher to `to`, in row-major order. Returns the end of
// the bytes written.
char* copy_from(const StoredTensor& tensor, size_t d, const char* from, char* to) {
  const size_t width = bytes_of(tensor.element);
  if (d == tensor.sizes.size()) {
    std::memcpy(to, from, width);
    return to + width;
  }
  const size_t step = static_cast<size_t>(tensor.strides[d]) * width;
  for (int64_t i = 0; i < tensor.sizes[d]; ++i, from += step)
    to = copy_from(tensor, d + 1, from, to);
  return to;
}

}  // namespace

size_t bytes_of(Element element) {
  switch (element) {
    case Element::f64:
    case Element::i64:
      return 8;
    case Element::f32:
    case Element::i32:
      return 4;
    case Element::f16:
    case Element::bf16:
    case Element::i16:
      return 2;
    default:
      return 1;
  }
}

size_t StoredTensor::bytes() const {
  size_t count = bytes_of(element);
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

uint64_t count_elements(std::span<const int64_t> sizes, uint64_t most) {
  if (sizes.size() > kMaxDimensions)
    throw std::runtime_error("a tensor has more than 16 dimensions");
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  const uint64_t limit = empty ? kMaxEmpty : most;
  uint64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 0) throw std::runtime_error("a tensor has a negative size");
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    if (count > limit / factor) throw std::runtime_error("a tensor is larger than the file");
    count *= factor;
  }
  if (count > limit) throw std::runtime_error("a tensor is larger than the file");
  return empty ? 0 : count;
}

uint64_t spanned_elements(const StoredTensor& tensor, uint64_t most) {
  if (count_elements(tensor.sizes, most) == 0) return 0;
  uint64_t last = 0;  // the last element's offset
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    const auto steps = static_cast<uint64_t>(tensor.sizes[d] - 1);
    const auto stride = static_cast<uint64_t>(tensor.strides[d]);
    if (tensor.strides[d] < 0 || (steps > 0 && stride > (most - last) / steps))
      throw std::runtime_error("a tensor does not fit its storage");
    last += steps * stride;
  }
  if (last >= most) throw std::runtime_error("a tensor does not fit its storage");
  return last + 1;
}

void copy_elements(const StoredTensor& tensor, void* to) {
  const size_t bytes = tensor.bytes();
  if (bytes == 0) return;
  if (is_contiguous(tensor))
    std::memcpy(to, tensor.first, bytes);
  else
    copy_from(tensor, 0, tensor.first, static_cast<char*>(to));
}

}  // namespace shoal::train
