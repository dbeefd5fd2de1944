#pragma once
// Selects one of the splits that an archive contains as folders, such as train/ and val/.

#include <string>
#include <vector>

#include "data/container/scan.h"
#include "data/dataset.h"

namespace shoal::data {

// Returns the names that the folder of a split may have: val, validation or valid for "val".
std::vector<std::string> folder_names(const std::string& split);

// Keeps only the images in the folder of options.split, such as train/. For "val", this is the
// first of val/, validation/ and valid/ that has an image. The folder may be in a single top
// folder: photos/train/. Throws std::invalid_argument if no image remains. `files`: the file of
// each scan, at least one. Calls options.warning as OpenOptions::val_unused describes.
void keep_split(std::vector<Scan>& scans, const std::vector<SourceFile>& files,
                const OpenOptions& options);

}  // namespace shoal::data
