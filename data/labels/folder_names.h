#pragma once
// Takes the classes of images from folders in tars or from the names of tars.

#include <vector>

#include "data/dataset.h"
#include "data/sources/catalogue.h"

namespace shoal::data {

// Returns a catalogue of all images by class, folder and name, in the order of list_folder(). The
// classes follow the rules of tar_source.h. Images without classes get them from options.labels.
// Throws std::invalid_argument.
Catalogue catalogue_by_folder(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                              const OpenOptions& options);

}  // namespace shoal::data
