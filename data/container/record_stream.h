#pragma once
// A stream of labeled images, for sources whose bytes can be read only once.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

struct StreamImage {
  std::vector<uint8_t> bytes;  // encoded
  int32_t label = 0;
  std::string name;    // PATH:NAME, for messages
  std::string damage;  // if damaged: the reason (`bytes` may then be empty); else empty
};

// Not thread-safe.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // Reads the next image; returns false at the end. Throws std::invalid_argument with position and
  // reason if an image has no label, or if the bytes are cut short, of another format, or so
  // damaged that the next image cannot be found. Also throws what ByteSource::read() throws.
  virtual bool next(StreamImage& image) = 0;
};

}  // namespace shoal::data
