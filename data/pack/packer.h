#pragma once
// Converts one image for a packed set.

#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/image/image_reader.h"
#include "data/image/resample.h"
#include "data/jpeg/baseline.h"
#include "data/pack/format.h"

namespace shoal::data {

// Use one object per thread. `options` must outlive it.
class Packer {
 public:
  explicit Packer(const PackOptions& options) : options_(options) {}

  struct Result {
    std::vector<uint8_t> bytes;  // the image and its index
    PackEntry entry;             // without its offset
    std::string damage;          // "NAME: REASON" if the image is damaged; else empty
  };
  // Reads and converts one image. If the image is damaged, sets out.damage; `bytes` and `entry` are
  // then unspecified. Throws what Dataset::read() throws, except DamagedImage.
  void make(const Dataset& source, int64_t sample, Result& out);

 private:
  bool build_index(const Result& out);
  void add_index(Result& out);
  void read_whole(const Size& size);
  void reduce(const Size& full, const Size& size);
  void encode(Size size, bool large, bool raw, Result& out);

  const PackOptions& options_;
  ImageReader reader_;
  jpeg::BaselineDecoder decoder_;
  jpeg::SeekIndex index_;
  Resizer resizer_;
  std::vector<uint8_t> pixels_;
};

}  // namespace shoal::data
