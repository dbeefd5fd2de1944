#pragma once
// Reads files that hold many images each from front to back, for file systems where a seek costs more
// than the bytes between (SageMaker FastFile).

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

// Turns `set`, whose files were opened with Reads::forward, into a stream of known length. All images
// form a line: files in an order that depends on seed and epoch (in evaluation: as listed), images
// as they lie in their file. The line is cut into `count` stretches of equal length (to one image),
// one per reader, so that each image is read exactly once; a reader seeks only where its stretch
// begins. Training reads 16 files at once, an image of each in turn, to mix files that hold one
// class each. Returns null if `set` has no image or no file_place() (class folders, packed sets).
std::shared_ptr<const Stream> read_whole_files(std::shared_ptr<const Dataset> set,
                                               const WholeFilesShare& share);

}  // namespace shoal::data
