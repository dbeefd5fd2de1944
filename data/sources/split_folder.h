#pragma once
// Selects one of the splits that an archive contains as folders, such as train/ and val/.

#include <string>
#include <vector>

#include "data/container/scan.h"

namespace shoal::data {

// Removes all images except those in the folder of `split`: train/, or val/ or, if there is none,
// validation/. The folder may be inside a single top folder, such as photos/train/. Throws
// std::invalid_argument if no image remains. `files`: the file of each scan, at least one.
void keep_split(std::vector<Scan>& scans, const std::vector<SourceFile>& files,
                const std::string& split);

}  // namespace shoal::data
