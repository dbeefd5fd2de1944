#pragma once
// Images of a stream in another order.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/random.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

// Holds `size` images: each time gives away one of them, drawn by seed and epoch, and takes the
// stream's next in its place. The order is a pure function of seed, epoch, size and the stream's
// own order; an image comes at most size - 1 places sooner than it stood. Size 0 or 1: the
// stream's order. Memory: that of the encoded images, about 110 KB each of ImageNet's.
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
