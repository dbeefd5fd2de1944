#pragma once
// SageMaker manifests. Images on S3 must have been copied to the folder of the manifest. Source:
// Amazon SageMaker's documentation, "S3DataSource" and "Augmented Manifest".
//
//   manifest             [{"prefix": "s3://bucket/path/"}, "cat/1.jpg", …]: the class is the first
//                        folder after the prefix
//   augmented manifest   a line {"source-ref": "s3://…/1.jpg", "NAME": 3, "NAME-metadata": {…}} for
//                        each image: the class is NAME's number or text, or the metadata's
//                        class-name
//
// Absolute paths, with or without file:// before them, are used as they are. Other paths are looked
// up in the folder of the manifest, without scheme, bucket and the first N folders. N is the
// smallest number that finds the first image; it applies to all images of the manifest.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// Whether the file begins like JSON: the first character that is not a blank is [ or {.
bool is_manifest(const File& file);

// Opens all images, in the order of the manifests. Leaves out files that are not images, and calls
// options.warning. Throws std::invalid_argument if a manifest is invalid (the error names the file
// and the line or entry), or if the first image with a relative path is missing (the error names
// the image). Does not look for the other images: read() reports those that are missing.
std::shared_ptr<const Dataset> open_manifest(const std::vector<std::string>& paths,
                                             const OpenOptions& options);

}  // namespace shoal::data
