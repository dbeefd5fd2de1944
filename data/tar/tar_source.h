#pragma once
// Tars of images, read where they lie. What they hold decides what they are:
//
//   several tars without folders in them       class tars: the class is the tar's name
//   a tar of tars                              the same, inside one (ILSVRC2012_img_train.tar)
//   folders                                    class folders; one folder around all does not count
//   images with .cls, .json or .txt beside   WebDataset shards (webdataset.h)
//   one tar without folders                    images without labels: OpenOptions::labels tells
//                                              them (ILSVRC2012_img_val.tar)
//
// Except for WebDataset shards the images are numbered as those of the class folders that
// unpacking the tars would make, so that a run learns from the same images in the same order.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Throws std::invalid_argument naming file, place or image.
std::shared_ptr<const Dataset> open_tars(const std::vector<std::string>& paths,
                                         const OpenOptions& options);

}  // namespace shoal::data
