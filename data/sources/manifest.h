#pragma once
// SageMaker's manifests, over files that lie beside them. Source: Amazon SageMaker's documentation,
// "S3DataSource" and "Augmented Manifest".
//
//   manifest             [{"prefix": "s3://bucket/path/"}, "cat/1.jpg", …]: the class is the first
//                        folder behind the prefix
//   augmented manifest   a line {"source-ref": "s3://…/1.jpg", "NAME": 3, "NAME-metadata": {…}} for
//                        each image: the class is NAME's number or text, or the metadata's
//                        class-name
//
// A place on S3 is looked for under the manifest's folder, by as much of the end of its path as is
// there for the first image.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// True when the file begins as JSON does.
bool is_manifest(const File& file);

// Images in the manifest's order. Throws std::invalid_argument naming file and line or entry.
std::shared_ptr<const Dataset> open_manifest(const std::vector<std::string>& paths,
                                             const OpenOptions& options);

}  // namespace shoal::data
