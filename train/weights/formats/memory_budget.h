#pragma once
// Limits what a hostile file can make its reader allocate. Does not use LibTorch.

#include <cstddef>
#include <stdexcept>
#include <string>

namespace shoal::train {

class MemoryBudget {
 public:
  // `owner` appears in the message: "its pickle".
  MemoryBudget(std::string owner, size_t bytes) : owner_(std::move(owner)), left_(bytes) {}

  // Call before allocating. Throws std::runtime_error when the budget is used up.
  void spend(size_t bytes) {
    if (bytes > left_) throw std::runtime_error(owner_ + " needs more memory than a file may use");
    left_ -= bytes;
  }

 private:
  std::string owner_;
  size_t left_;
};

}  // namespace shoal::train
