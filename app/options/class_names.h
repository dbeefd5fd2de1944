#pragma once
// Reads the file of class names that --classes gives.

#include <string>
#include <vector>

#include "train/job/job.h"

namespace shoal::app {

// Reads the class names in the file of --classes, one per line. `other`: what the option accepts
// besides a file, for messages. Throws UserError if the file does not exist, has no names, or
// contains a name twice; std::system_error if it cannot be read.
std::vector<std::string> read_class_names(const std::string& path, const std::string& other);

// If --classes names a file, sets job.classes to the number of its names. Throws like
// read_class_names().
void count_classes(train::Job& job);

}  // namespace shoal::app
