#pragma once
// Helpers for the tests of data/: golden files, synthetic images, datasets in memory, temporary
// folders.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/geometry.h"
#include "data/image/image_reader.h"
#include "data/isa.h"
#include "data/jpeg/decoder.h"
#include "tests/data/rows.h"
#include "tests/support/temporary_directory.h"

namespace shoal::data {

using Bytes = std::vector<uint8_t>;

Bytes file_bytes(const std::string& path);
Bytes read_golden(const std::string& name);  // relative to tests/golden

// Returns the RGB test image of tests/golden/scripts/formula.py: squares of noise and squares of
// smooth gradients.
Bytes formula_image(const Size& size);

// Returns an uncompressed 24-bit BMP of RGB pixels.
Bytes encode_bmp(const Bytes& pixels, const Size& size);

// Returns a JPEG of `size` whose content depends on `index`.
Bytes made_jpeg(int64_t index, const Size& size = {60, 45});

// Decodes the pixels of `box` with an ImageReader, JpegDecoder or TurboDecoder.
template <class Reader>
Bytes read_box(Reader& reader, const Bytes& bytes, const Box& box) {
  reader.open(bytes);
  reader.start(box, 64);
  Bytes pixels;
  append_rows([&] { return reader.next(); }, box.width, pixels);
  return pixels;
}

// Returns the instruction sets that this processor supports, portable first.
std::vector<Isa> supported_isas();

int largest_difference(const Bytes& a, const Bytes& b);  // 999 if the sizes differ

// A dataset of encoded images in memory. Sample i has label i % classes.
class MemoryDataset : public BasicDataset {
 public:
  explicit MemoryDataset(std::vector<Bytes> images, int64_t classes = 3);
  int64_t size() const override { return static_cast<int64_t>(images.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override {
    return static_cast<int32_t>(sample % static_cast<int64_t>(classes_.size()));
  }
  std::string name(int64_t sample) const override { return "image " + std::to_string(sample); }
  void read(int64_t sample, Bytes& bytes) const override;

  std::vector<Bytes> images;
  int64_t unreadable = -1;  // reading this sample throws, as for a missing file; -1: none

 private:
  std::vector<std::string> classes_;
};

// Returns a dataset of n JPEGs in memory.
std::shared_ptr<MemoryDataset> made_dataset(int64_t n);

// A temporary directory with paths as strings.
class TempFolder {
 public:
  std::string operator/(const std::string& name) const { return path() + "/" + name; }
  std::string path() const { return directory_.path().string(); }
  // Creates the file and the folders above it.
  void write(const std::string& name, const Bytes& bytes) const;
  void write(const std::string& name, const std::string& text) const;

 private:
  test::TemporaryDirectory directory_;
};

}  // namespace shoal::data
