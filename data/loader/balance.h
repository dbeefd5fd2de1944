#pragma once
// Class-balanced sampling: how often an epoch uses each class, and which images of the class.

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Returns how many images of `dataset` each class has.
std::vector<int64_t> class_counts(const Dataset& dataset);

// Returns how often an epoch of `length` images uses each class. A class with n images gets a share
// that is proportional to n^(1 - balance), rounded so that the sum is `length`: with balance 1,
// numbers of any two classes differ by at most 1. Classes without images get 0. The seed decides
// which of several equal classes get one image more. A pure function.
std::vector<int64_t> balanced_counts(const std::vector<int64_t>& images, double balance,
                                     int64_t length, uint64_t seed);

// Assigns an image to each slot 0 … length - 1 of an epoch. The slots of a class follow each other;
// EpochOrder shuffles the slots. A class continues its images, in an order of its own, from slot to
// slot and from epoch to epoch. So the numbers of times that two images of a class are used differ
// by at most 1, in each epoch and in any number of epochs from the first on.
//
// A pure function of (labels, balance, length, seed, epoch), so the world size does not matter.
// Holds one number per image. Immutable, thread-safe.
class ClassBalance {
 public:
  ClassBalance(const Dataset& dataset, double balance, int64_t length, uint64_t seed);

  int64_t length() const { return first_slots_.back(); }
  struct Drawn {
    int64_t sample = 0;
    int64_t repetition = 0;  // how often the epoch's earlier slots have used this image
  };
  // Returns the image of `slot`, 0 <= slot < length. Takes about 0.2 µs.
  Drawn draw(int64_t slot, int64_t epoch) const;

 private:
  std::vector<int64_t> samples_;        // of the dataset, class by class, shuffled within a class
  std::vector<int64_t> first_samples_;  // per class: its first place in samples_, then the end
  std::vector<int64_t> first_slots_;    // per class: its first slot, then the length
};

}  // namespace shoal::data
