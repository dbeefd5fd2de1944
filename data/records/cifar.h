#pragma once
// Binary files of CIFAR-10 and CIFAR-100, as the University of Toronto distributes them.
//
// A file named .bin consists of records without any header. A record is the label (CIFAR-10: one
// byte; CIFAR-100: the coarse label, then the fine label, which shoal uses) and 32×32 pixels: first
// all red samples, then green, then blue. A text file in the same folder names the classes in the
// order of their labels, one per line: batches.meta.txt or fine_label_names.txt. Without it, the
// classes are 0 to 9 or 00 to 99. Source: www.cs.toronto.edu/~kriz/cifar.html, "Binary version".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// Whether the file is named .bin and either a file of class names is in its folder, or its size and
// its first label are those of a file of CIFAR.
bool is_cifar(const File& file);

// Returns the names, or patterns of names, of CIFAR's files that contain the images of `split`,
// "train" or "val". Other splits have none.
std::vector<const char*> cifar_files(std::string_view split);

// Whether a file of this path is called as one of CIFAR's files of images, such as test_batch.bin.
bool is_cifar_name(std::string_view path);

// Whether the file contains class names for the files beside it.
bool belongs_to_cifar(const std::string& path);

// Opens all images, in the order of files and records. Images are uncompressed
// (image/raw_pixels.h). Throws std::invalid_argument naming the file if its size is wrong or fits
// both kinds and no class names are beside it, if a label is too large, if files are of different
// kinds or have different class names, or if they contain both training and test images: training
// on a whole folder would otherwise include the test images.
std::shared_ptr<const Dataset> open_cifar(const std::vector<std::string>& paths,
                                          const OpenOptions& options);

}  // namespace shoal::data
