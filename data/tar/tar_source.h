#pragma once
// Dataset of images in tars, read in place. The content decides how the tars are read:
//
//   several tars without folders in them       class tars: the class is the tar's name
//   a tar of tars                              the same, inside one (ILSVRC2012_img_train.tar)
//   folders                                    class folders; a single folder around all is ignored
//   images beside .cls, .json or .txt files    WebDataset shards (webdataset.h)
//   one tar without folders                    images without labels, which come from
//                                              OpenOptions::labels (ILSVRC2012_img_val.tar)
//
// Except for WebDataset shards, samples are numbered like those of the class folders that unpacking
// the tars would give, so a run sees the same images in the same order.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

// Throws std::invalid_argument that names the file, the offset or the image.
std::shared_ptr<const Dataset> open_tars(const std::vector<std::string>& paths,
                                         const OpenOptions& options);

}  // namespace shoal::data
