#pragma once
// Lists of images and their classes in CSV files, as on Kaggle: a header, then a line per image.
//
//   image,label
//   cats/1.jpg,cat
//   "dogs/2.jpg","dog, small"
//
// The column of images may be called path, file, filename, file_name, filepath, image, image_path,
// image_id, img, name or id. The column of classes may be called class, label, label_name,
// category, target or y. If several columns fit, the name that comes first in these lists is used.
// Other columns are ignored.
//
// Quoting follows RFC 4180: a quoted field may contain separators, line breaks and doubled quotes.
// Blanks around fields and empty lines are ignored. The separator is a tab in .tsv files; in .csv
// files a comma, or a semicolon if the header has no comma.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

inline constexpr const char* kListExtensions[] = {".csv", ".tsv"};

// Whether `path` is an existing file whose name ends in .csv or .tsv. Opens no file.
bool is_csv_list(const std::string& path);

// Opens the images that the file lists. Paths are relative to the file's folder or, if no image is
// found there, to a folder beside the file: NAME.csv has images in NAME/, NAME_images/ or images/.
// file:// may precede absolute paths. A path without an image's extension may also name an image
// with one: `0f3a` may be 0f3a.jpg. Samples are sorted by class, folder and file name, as in class
// folders; with options.unlabeled, by line. Classes are sorted by name, or by value if all are
// numbers.
//
// Lists the folders of the images with options.threads threads. Opens only files without an image's
// extension. Leaves out files that are not images by name or content, and lines that repeat an
// image, and calls options.warning. Throws std::invalid_argument for user errors, naming file and
// line: malformed lines, a missing image, an image with two classes. Throws std::runtime_error for
// system errors.
std::shared_ptr<const Dataset> open_csv_list(const std::string& path, const OpenOptions& options);

// Returns a text such as "the column 'split' ('train', 'val')" if the list has a column that is
// called split, set, fold or subset and has 2 to 10 different values. Otherwise returns "", also if
// the file is not a valid list: open_csv_list() reports the errors.
std::string split_column(const std::string& path);

}  // namespace shoal::data
