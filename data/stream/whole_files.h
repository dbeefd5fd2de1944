#pragma once
// Files that hold many images each, read from front to back: for file systems on which a seek
// costs more than the bytes between (SageMaker's FastFile).

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace shoal::data {

// Of all images those of reader `index` of `count`.
struct WholeFilesShare {
  int64_t index = 0, count = 1;
  int64_t shuffle_buffer = 1024;  // images (stream/shuffled.h)
};

// `set`, whose files were opened with Reads::forward, as a stream whose length is known. The files
// stand in a line, in an order of seed and epoch (in evaluation as they are listed), their images
// as they lie in them. Each reader has a stretch of that line, as long as the others' to one
// image, so that each image is read once by all of them together; only where its stretch begins
// does it seek. In training 16 files are read at a time, an image of each in turn, so that files
// of one class mix. Returns `set` itself where it has no file_place(): class folders, packed sets.
std::shared_ptr<const Dataset> read_whole_files(std::shared_ptr<const Dataset> set,
                                                const WholeFilesShare& share);

}  // namespace shoal::data
