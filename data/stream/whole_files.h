#pragma once
// Sequential reading of files that contain many images, for file systems on which a seek costs more
// than reading the bytes that it skips (SageMaker FastFile).

#include <cstdint>
#include <memory>

#include "data/dataset.h"
#include "data/stream/stream.h"

namespace shoal::data {

// Which part of the images this process reads: part `index` of `count`.
struct WholeFilesShare {
  int64_t index = 0, count = 1;
  int64_t shuffle_buffer = 1024;  // images (stream/shuffled.h)
};

// Turns `set`, whose files must be opened with Reads::forward, into a stream of known length. The
// images form a sequence: the files in an order that depends on seed and epoch (in evaluation: as
// listed), and the images of each file in file order. The sequence is divided into share.count
// parts, whose lengths differ by at most one image. Each process reads one part, so each image is
// read exactly once, and a process seeks only to the beginning of its part. Training reads 16 files
// in turn, one image of each, to mix files that contain one class each.
//
// Returns null if `set` has no image or no file_place() (class folders, packed sets).
std::shared_ptr<const Stream> read_whole_files(std::shared_ptr<const Dataset> set,
                                               const WholeFilesShare& share);

}  // namespace shoal::data
