#pragma once
// Reads the file of class names that --classes gives.

#include <string>
#include <vector>

namespace shoal::app {

// Reads the class names in the file of --classes, one per line. `other`: what the option accepts
// besides a file, for messages. Throws UserError if the file does not exist, has no names, or
// contains a name twice; std::system_error if it cannot be read.
std::vector<std::string> read_class_names(const std::string& path, const std::string& other);

}  // namespace shoal::app
