#pragma once
// Selects one of the splits that an archive contains as folders, such as train/ and val/.

#include <string>
#include <vector>

#include "data/container/scan.h"
#include "data/dataset.h"

namespace shoal::data {

// Removes all images except those in the folder of options.split: train/, or val/ or, if there is
// none, validation/. The folder may be inside a single top folder, such as photos/train/. Throws
// std::invalid_argument if no image remains. `files`: the file of each scan, at least one. Calls
// options.warning as OpenOptions::val_unused describes.
void keep_split(std::vector<Scan>& scans, const std::vector<SourceFile>& files,
                const OpenOptions& options);

}  // namespace shoal::data
