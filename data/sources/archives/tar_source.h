#pragma once
// Dataset of images in tars, read in place. The content decides how the tars are read:
//
//   several tars without folders in them       class tars: the name of a tar is the class
//   one tar that contains tars                 class tars, too (ILSVRC2012_img_train.tar)
//   folders                                    class folders; common parent folders are ignored
//   images beside .cls, .json or .txt files    WebDataset shards (tar/webdataset.h)
//   tars without folders, with a file of       images; that file states their classes
//   classes (OpenOptions::labels)              (ILSVRC2012_img_val.tar)
//
// Except for WebDataset shards, samples have the same numbers as in the class folders that
// unpacking the tars would create. So a run on tars reads the same images in the same order as a
// run on these folders.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Opens the tars as one dataset. Throws std::invalid_argument, naming the file and the offset or
// image, if a tar is damaged or an image has no valid label.
std::shared_ptr<const Dataset> open_tars(const std::vector<std::string>& paths,
                                         const OpenOptions& options);

}  // namespace shoal::data
