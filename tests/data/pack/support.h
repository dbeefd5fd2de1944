#pragma once
// Helpers for the tests of packed sets.

#include <fstream>
#include <memory>
#include <string>

#include "data/random.h"
#include "tests/data/support.h"

namespace shoal::data {

inline Bytes noise_pixels(const Size& size, uint64_t seed) {
  KeyedRandom random(seed);
  Bytes pixels(static_cast<size_t>(3 * size.width * size.height));
  for (uint8_t& level : pixels) level = static_cast<uint8_t>(random.next());
  return pixels;
}

inline std::shared_ptr<MemoryDataset> noise_images(int64_t count) {
  std::vector<Bytes> files;
  for (int64_t i = 0; i < count; ++i) {
    const Size size{100 + 7 * i, 80 + 3 * i};
    const Bytes pixels = noise_pixels(size, static_cast<uint64_t>(i));
    files.push_back(i % 5 == 4 ? encode_bmp(pixels, size)
                               : encode_jpeg(pixels.data(), size, 90, i % 2 == 0));
  }
  return std::make_shared<MemoryDataset>(std::move(files));
}

inline void write_bytes(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace shoal::data
