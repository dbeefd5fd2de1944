#include "data/stream/shuffled.h"

#include <catch2/catch.hpp>

using namespace shoal::data;

namespace {

// A stream of images with the labels 0 … count-1.
class Counting : public RecordStream {
 public:
  explicit Counting(int32_t count) : count_(count) {}
  bool next(StreamImage& image) override {
    image.label = next_;
    return next_++ < count_;
  }

 private:
  int32_t count_, next_ = 0;
};

std::vector<int32_t> order(int32_t count, int64_t size, uint64_t seed = 1, int64_t epoch = 0) {
  ShuffledStream stream(std::make_unique<Counting>(count), size, seed, epoch);
  std::vector<int32_t> labels;
  for (StreamImage image; stream.next(image);) labels.push_back(image.label);
  return labels;
}

}  // namespace

TEST_CASE("every image comes once, moved forward by at most the buffer size") {
  for (const int64_t size : {2, 10, 100, 1000}) {
    INFO(size);
    const auto mixed = order(300, size);
    CHECK(mixed != order(300, 1));
    CHECK(sorted(mixed) == order(300, 0));
    for (size_t i = 0; i < mixed.size(); ++i) CHECK(mixed[i] < static_cast<int64_t>(i) + size);
  }
  CHECK(order(0, 10).empty());
}

TEST_CASE("the order depends only on seed and epoch") {
  CHECK(order(100, 30) == order(100, 30));
  CHECK(order(100, 30) != order(100, 30, 2));
  CHECK(order(100, 30) != order(100, 30, 1, 1));
}
