#pragma once
// A tensor in the bytes of a file, checked but not yet copied. Does not use LibTorch.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shoal::train {

enum class Element { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
size_t bytes_of(Element element);

struct StoredTensor {
  Element element = Element::f32;
  std::vector<int64_t> sizes, strides;  // strides in elements; empty: contiguous
  const char* first = nullptr;          // first element, in the file's bytes; may be unaligned

  // Returns the size of a contiguous copy in bytes.
  size_t bytes() const;
};
using StoredTensors = std::vector<std::pair<std::string, StoredTensor>>;

// Returns the number of elements of a shape. Throws std::runtime_error if the shape has a negative
// size, more than 16 dimensions or more than `most` elements. If a size is 0, `most` does not
// apply; instead, the product of the other sizes must not exceed 2^40.
uint64_t count_elements(std::span<const int64_t> sizes, uint64_t most);

// Returns the number of the storage's elements from the tensor's first to its last element; strides
// may skip some of them. Throws std::runtime_error if the number is above `most` or a stride is
// negative, and what count_elements() throws.
uint64_t spanned_elements(const StoredTensor& tensor, uint64_t most);

// Writes a contiguous copy of the tensor, tensor.bytes() long, to `to`.
void copy_elements(const StoredTensor& tensor, void* to);

}  // namespace shoal::train
