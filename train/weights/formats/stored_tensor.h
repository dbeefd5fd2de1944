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
  const char* first = nullptr;          // the first element, maybe unaligned; in the file's bytes

  // Size of a contiguous copy.
  size_t bytes() const;
};
using StoredTensors = std::vector<std::pair<std::string, StoredTensor>>;

// Returns the number of elements of a shape. Throws std::runtime_error if it has negative sizes,
// more than 16 dimensions or more than `most` elements, or if the other sizes of an empty one have
// a product above 2^40.
uint64_t count_elements(std::span<const int64_t> sizes, uint64_t most);

// Returns the elements that a strided tensor spans in its storage: from its first to its last one.
// Throws std::runtime_error if that is more than `most`, or a stride is negative.
uint64_t spanned_elements(const StoredTensor& tensor, uint64_t most);

// Writes a contiguous copy of tensor.bytes() to `to`.
void copy_elements(const StoredTensor& tensor, void* to);

}  // namespace shoal::train
