#pragma once
// Class-balanced sampling: decides how many images of each class an epoch uses, and which ones.

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Returns the number of images of each class.
std::vector<int64_t> class_counts(const Dataset& dataset);

// Returns how many of an epoch's `length` images each class provides. `images`: number of images of
// each class. A class with n images gets a share proportional to n^(1 - balance), rounded so that
// the counts sum to `length`. With balance 1, the counts of non-empty classes differ by at most 1.
// Empty classes get 0. The seed breaks ties between classes with equal remainders. A pure function.
std::vector<int64_t> balanced_counts(const std::vector<int64_t>& images, double balance,
                                     int64_t length, uint64_t seed);

// Assigns an image to each slot 0 … length - 1 of an epoch. The slots of a class are consecutive;
// the caller shuffles them with EpochOrder. A class cycles through its images in a fixed shuffled
// order, and each epoch continues where the previous one stopped. So the use counts of two images
// of a class differ by at most 1, both within an epoch and summed over the first N epochs.
//
// A pure function of (labels, balance, length, seed, epoch), so the world size does not matter.
// Takes 8 bytes of memory per image. Immutable, thread-safe.
class ClassBalance {
 public:
  ClassBalance(const Dataset& dataset, double balance, int64_t length, uint64_t seed);

  int64_t length() const { return first_slots_.back(); }
  struct Drawn {
    int64_t sample = 0;
    int64_t repetition = 0;  // number of lower slots of this epoch that have the same image
  };
  // Returns the image of `slot`, 0 <= slot < length. Takes about 0.2 µs.
  Drawn draw(int64_t slot, int64_t epoch) const;

 private:
  std::vector<int64_t> samples_;        // dataset indexes, grouped by class, shuffled within each
  std::vector<int64_t> first_samples_;  // per class: first index in samples_; then samples_.size()
  std::vector<int64_t> first_slots_;    // per class: first slot; then length()
};

}  // namespace shoal::data
