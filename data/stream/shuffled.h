#pragma once
// Shuffles a stream with a buffer of limited size.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/random.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

// Holds `size` images. Each call returns a random one of them and replaces it by the next image of
// the stream. The order is a pure function of seed, epoch, size and the order of the stream; an
// image moves forward by at most size - 1 positions. With size 0 or 1 the order does not change.
// Memory: the encoded images, about 110 KB each for ImageNet.
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
