#pragma once
// A packed set: all images of a dataset in one file, whose table is opened by mmap.
//
//   PackHeader
//   images, each followed by its packed seek index (jpeg/index_store.h), in the dataset's order
//   PackEntry for each image
//   text: the names of the classes, those of the images, and one for what was asked for, by which
//     another call of the writer knows its own work; each 32 bits of length and UTF-8
//
// Numbers are little-endian as the machines that read it are. A file that is being written has
// another name, and its header comes last, so a whole one is whole.

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
  uint64_t table = 0, text = 0, end = 0;  // offsets in the file; `end`: its length
  uint64_t check = 0;                     // hash of the table, the text, and this without `check`
};
static_assert(sizeof(PackHeader) == 64);

enum class Packed : uint32_t { original, encoded, pixels };  // as it was; encoded anew; raw RGB

struct PackEntry {
  uint64_t offset = 0;
  uint64_t check = 0;  // hash of the image and its index
  uint32_t bytes = 0, index_bytes = 0;
  int32_t label = 0;
  Packed kind = Packed::original;
};
static_assert(sizeof(PackEntry) == 32);

}  // namespace shoal::data
