#pragma once
// Determines the classes of images in archives (tars, zips): from the folders in the archives, the
// names of the archives, or a label file.

#include <vector>

#include "data/container/catalogue.h"
#include "data/dataset.h"

namespace shoal::data {

// Returns a catalogue of all images, sorted by class, folder and name like list_folder(). The rules
// for classes are those of sources/archives/tar_source.h. Throws std::invalid_argument if an image
// has no class, or if options.labels gives it a class that is not in options.classes.
Catalogue catalogue_by_folder(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                              const OpenOptions& options);

}  // namespace shoal::data
