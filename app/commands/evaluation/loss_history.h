#pragma once
// The losses of each image over several sets of weights, such as the checkpoints of a run.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "train/report/classification.h"

namespace shoal::app {

class LossHistory {
 public:
  // `sharded`: whether each host has its own images. Image numbers are then unique only per host.
  explicit LossHistory(bool sharded) : sharded_(sharded) {}

  // Adds the results of one set of weights, in any order. Ignores unreadable images.
  void add(const std::vector<train::ImageResult>& images);

  // Returns the positions in `images` of at most `count` images with the highest mean loss, highest
  // first. Considers only images that at least one set of weights classified wrongly. Overwrites
  // `loss` of every image: with its mean loss if it is considered, else with -1.
  std::vector<size_t> suspects(std::vector<train::ImageResult>& images, size_t count) const;

 private:
  struct Losses {
    double sum = 0;
    int64_t count = 0;
    bool wrong = false;  // whether a prediction was wrong
  };
  using Key = std::pair<int32_t, int64_t>;
  Key key(const train::ImageResult& image) const {
    return {sharded_ ? image.rank : 0, image.image};
  }

  bool sharded_;
  std::map<Key, Losses> losses_;
};

}  // namespace shoal::app
