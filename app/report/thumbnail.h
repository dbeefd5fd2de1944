#pragma once
// Small copies of images for a report.

#include <string>
#include <vector>

#include "data/image/image_reader.h"
#include "data/image/resample.h"

namespace shoal::app {

// Makes thumbnails. Not thread-safe: use one object per thread.
class Thumbnails {
 public:
  static constexpr int64_t kSide = 96;  // pixels of the longer side; smaller images keep their size

  // Returns a small copy of the image in a file, encoded as a JPEG. Throws std::runtime_error with
  // the reason if the file does not exist or cannot be decoded.
  std::vector<uint8_t> of_file(const std::string& path);

 private:
  data::ImageReader reader_;
  data::Resizer resizer_;
  std::vector<uint8_t> bytes_, pixels_;
};

}  // namespace shoal::app
