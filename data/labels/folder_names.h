#pragma once
// Classes from where images stand: folders in tars, names of tars.

#include <vector>

#include "data/dataset.h"
#include "data/sources/catalogue.h"

namespace shoal::data {

// A catalogue of everything by class, folder and name, as data/folder/listing.h orders class folders; the
// classes are those of tar_source.h. Images without classes get them from options.labels. Throws
// std::invalid_argument.
Catalogue catalogue_by_folder(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                              const OpenOptions& options);

}  // namespace shoal::data
