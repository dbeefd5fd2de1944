#pragma once
// What can go wrong in data/. A user's mistake (a folder without classes, an odd batch size with
// mixup) is a std::invalid_argument of one sentence; a failing system call is a std::runtime_error
// with path and reason; a library that must be installed first is a MissingLibrary.

#include <stdexcept>
#include <string>

namespace shoal::data {

// The bytes are not an image that can be read in full. The message has no file name: who knows it
// adds it.
class DamagedImage : public std::runtime_error {
 public:
  explicit DamagedImage(const std::string& reason) : std::runtime_error(reason) {}
};

// A library that is opened only when it is needed is not there, or is not the one that fits. The
// message names the package to install.
class MissingLibrary : public std::runtime_error {
 public:
  explicit MissingLibrary(const std::string& reason) : std::runtime_error(reason) {}
};

}  // namespace shoal::data
