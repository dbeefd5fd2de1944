#pragma once
// Limits how much memory a malicious file can make its reader allocate. Does not use LibTorch.

#include <cstddef>
#include <stdexcept>
#include <string>

namespace shoal::train {

class MemoryBudget {
 public:
  // `owner` is the subject of the error message: "its pickle".
  MemoryBudget(std::string owner, size_t bytes) : owner_(std::move(owner)), left_(bytes) {}

  // Call it before allocating. Throws std::runtime_error if less than `bytes` is left.
  void spend(size_t bytes) {
    if (bytes > left_) throw std::runtime_error(owner_ + " needs more memory than a file may use");
    left_ -= bytes;
  }

 private:
  std::string owner_;
  size_t left_;
};

}  // namespace shoal::train
