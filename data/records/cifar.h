#pragma once
// Binary files of CIFAR-10 and CIFAR-100, as the University of Toronto distributes them.
//
// A .bin file consists of records without any header. A record is the label (CIFAR-10: one
// byte; CIFAR-100: the coarse label, then the fine label, which shoal uses) and 32×32 pixels: first
// all red values, then green, then blue. A text file in the same folder names the classes in the
// order of their labels, one per line: batches.meta.txt or fine_label_names.txt. Without it, the
// classes are 0 to 9 or 00 to 99. Source: www.cs.toronto.edu/~kriz/cifar.html, "Binary version".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// Whether the file is a .bin file that either has a file of class names beside it, or has a size
// and a first label that fit CIFAR-10 or CIFAR-100.
bool is_cifar(const File& file);

// Returns the names, or patterns of names, of CIFAR's files that contain the images of `split`,
// "train" or "val". Other splits have none.
std::vector<const char*> cifar_files(std::string_view split);

// Whether `path` ends in the name of one of CIFAR's image files, such as test_batch.bin.
bool is_cifar_name(std::string_view path);

// Whether `path` ends in the name of one of CIFAR's files of class names, such as batches.meta.txt.
bool belongs_to_cifar(const std::string& path);

// Opens all images, in the order of files and records. Images are uncompressed
// (image/raw_pixels.h). Throws std::invalid_argument naming the file if a label is too large, if
// the file's size fits neither CIFAR-10 nor CIFAR-100, or if it fits both and no file of class
// names in the same folder decides. Also throws if the files are partly of CIFAR-10 and partly of
// CIFAR-100, if they have different class names, or if they contain both training and test images:
// training on a whole folder would otherwise include the test images.
std::shared_ptr<const Dataset> open_cifar(const std::vector<std::string>& paths,
                                          const OpenOptions& options);

}  // namespace shoal::data
