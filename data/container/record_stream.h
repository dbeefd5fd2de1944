#pragma once
// A stream of labeled images, read from bytes that can be read only once.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

struct StreamImage {
  std::vector<uint8_t> bytes;  // encoded
  int32_t label = 0;
  std::string name;    // PATH:NAME, for messages
  std::string damage;  // why the bytes are damaged; empty if they are not
};

// Not thread-safe.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // Reads the next image; returns false at the end. Throws std::invalid_argument naming position
  // and reason if the bytes are damaged, cut short or of another format, or if an image has no
  // label. Also throws what reading the bytes throws (ByteSource::read()).
  virtual bool next(StreamImage& image) = 0;
};

}  // namespace shoal::data
