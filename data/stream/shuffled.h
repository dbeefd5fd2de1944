#pragma once
// Shuffles a stream with a buffer of limited size.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/container/record_stream.h"
#include "data/random.h"

namespace shoal::data {

// Keeps `size` images in a buffer. Each call of next() returns a random image of the buffer and
// refills the buffer from the stream. The order is a pure function of seed, epoch, size
// and the order of the stream. No image is returned more than size - 1 positions early. With size 0
// or 1 the order does not change. Needs memory for `size` encoded images, about 110 KB each for
// ImageNet.
class ShuffledStream : public RecordStream {
 public:
  ShuffledStream(std::unique_ptr<RecordStream> stream, int64_t size, uint64_t seed, int64_t epoch);

  bool next(StreamImage& image) override;

 private:
  std::unique_ptr<RecordStream> stream_;
  size_t size_;
  KeyedRandom random_;
  std::vector<StreamImage> held_;
  bool ended_ = false;
};

}  // namespace shoal::data
