#pragma once
// Class-balanced sampling: how often an epoch uses each class, and which images of the class.

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Returns how many images of `dataset` each class has.
std::vector<int64_t> class_counts(const Dataset& dataset);

// Returns how often an epoch of `length` images uses each class. `images`: number of images of each
// class. A class with n images gets a share that is proportional to n^(1 - balance), rounded so
// that the sum is `length`. With balance 1, the counts of any two classes differ by at most 1.
// Classes without images get 0. If equal classes get different counts, the seed decides which get
// one more. A pure function.
std::vector<int64_t> balanced_counts(const std::vector<int64_t>& images, double balance,
                                     int64_t length, uint64_t seed);

// Assigns an image to each slot 0 … length - 1 of an epoch. The slots of a class are consecutive;
// the caller shuffles them with EpochOrder. A class uses its images in rotation, in a shuffled
// order that stays the same, and each epoch continues where the previous one stopped. So the use
// counts of two images of a class differ by at most 1, both within an epoch and summed over the
// first N epochs, for any N.
//
// A pure function of (labels, balance, length, seed, epoch), so the world size does not matter.
// Holds one number per image. Immutable, thread-safe.
class ClassBalance {
 public:
  ClassBalance(const Dataset& dataset, double balance, int64_t length, uint64_t seed);

  int64_t length() const { return first_slots_.back(); }
  struct Drawn {
    int64_t sample = 0;
    int64_t repetition = 0;  // how often earlier slots of this epoch use this image
  };
  // Returns the image of `slot`, 0 <= slot < length. Takes about 0.2 µs.
  Drawn draw(int64_t slot, int64_t epoch) const;

 private:
  std::vector<int64_t> samples_;        // of the dataset, class by class, shuffled within a class
  std::vector<int64_t> first_samples_;  // per class: its first index in samples_; last: the end
  std::vector<int64_t> first_slots_;    // per class: its first slot; last: the length
};

}  // namespace shoal::data
