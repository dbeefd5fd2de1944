#pragma once
// Format of a packed set: all images of a dataset in one file, which consists of
//
//   PackHeader
//   images, each followed by its packed seek index (jpeg/index_codec.h), in the dataset's order
//   PackEntry for each image
//   text: class names, image names, and the hash `request`, each as a 32-bit length and UTF-8.
//     Image names are the keys of the source's images (Dataset::key()); in older files they are
//     whole paths. `request` is a hash of the source's listing and the settings, in hexadecimal: a
//     later call of the writer recognizes its own work by this hash.
//
// Readers keep everything after the images in memory. Numbers are little-endian. The writer uses a
// temporary file name until the file is complete, and writes the header last. So a file with the
// final name is complete.

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::data {

constexpr char kPackMagic[8] = {'s', 'h', 'o', 'a', 'l', 'p', 'a', 'k'};
constexpr uint32_t kPackVersion = 1;

struct PackHeader {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t header_bytes = 0;
  uint64_t samples = 0, classes = 0;
  uint64_t table = 0, text = 0, end = 0;  // offsets in the file; `end` is the size of the file
  uint64_t check = 0;  // hash of the table, the text and this header without `check`
};
static_assert(sizeof(PackHeader) == 64);

// How an image is stored: unchanged, encoded again, or as raw RGB pixels (image/raw_pixels.h).
enum class Packed : uint32_t { original, encoded, pixels };

struct PackEntry {
  uint64_t offset = 0;
  uint64_t check = 0;  // hash of the image and its index
  uint32_t bytes = 0, index_bytes = 0;
  int32_t label = 0;
  Packed kind = Packed::original;
};
static_assert(sizeof(PackEntry) == 32);

}  // namespace shoal::data
