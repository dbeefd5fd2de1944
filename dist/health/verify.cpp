// The hash reads eight bytes at a time into four independent lanes, so that the multiplications
// overlap, and mixes the lanes at the end. Each step is a bijection of its lane, so any single
// changed word changes the result.

#include "dist/health/verify.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace shoal::dist {

namespace {

constexpr uint64_t kPrime = 0x9E3779B185EBCA87ull;

uint64_t mix(uint64_t value) {  // finalizer of splitmix64
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

uint64_t add(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * kPrime;
  return lane ^ (lane >> 29);
}

uint64_t hash_bytes(const unsigned char* data, size_t bytes, uint64_t seed) {
  uint64_t lane[4] = {seed, seed + 1, seed + 2, seed + 3};
  size_t position = 0;
  for (; position + 32 <= bytes; position += 32) {
    uint64_t words[4];
    std::memcpy(words, data + position, sizeof words);
    for (int i = 0; i < 4; ++i) lane[i] = add(lane[i], words[i]);
  }
  for (; position < bytes; position += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + position, std::min<size_t>(8, bytes - position));
    lane[0] = add(lane[0], word);
  }
  uint64_t result = mix(bytes);
  for (uint64_t value : lane) result = mix(result ^ value) + kPrime;
  return result;
}

}  // namespace

uint64_t hash(const std::vector<at::Tensor>& tensors) {
  uint64_t result = mix(tensors.size() + 1);
  for (const at::Tensor& tensor : tensors) {
    result = mix(result ^ static_cast<uint64_t>(tensor.scalar_type()));
    for (int64_t size : tensor.sizes())
      result = mix((result + kPrime) ^ static_cast<uint64_t>(size));
    const at::Tensor values = tensor.detach().cpu().contiguous();
    result = hash_bytes(static_cast<const unsigned char*>(values.const_data_ptr()), values.nbytes(),
                        result);
  }
  return result;
}

void verify_equal(const Group& group, const std::vector<at::Tensor>& tensors,
                  const std::string& what) {
  if (group.size() == 1) return;
  at::Tensor mine = at::empty({1}, at::kLong);
  *mine.mutable_data_ptr<int64_t>() = static_cast<int64_t>(hash(tensors));
  const std::vector<at::Tensor> all = group.all_gather(mine);
  const int64_t first = *all[0].const_data_ptr<int64_t>();
  std::string differing;
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (*all[rank].const_data_ptr<int64_t>() != first)
      differing += (differing.empty() ? "" : ", ") + std::to_string(rank);
  if (!differing.empty())
    throw std::runtime_error(
        what + " must be the same on every rank, but differs from rank 0 on rank " + differing);
}

}  // namespace shoal::dist
