#pragma once
// Exceptions of data/. A user's mistake (a folder without classes, an odd batch size with mixup) is a
// std::invalid_argument with one sentence. A failing system call is a std::runtime_error with path
// and reason.

#include <stdexcept>
#include <string>

namespace shoal::data {

// The bytes are not a complete image. The message has no file name; callers that know it add it.
class DamagedImage : public std::runtime_error {
 public:
  explicit DamagedImage(const std::string& reason) : std::runtime_error(reason) {}
};

// A library that is loaded on demand is missing or of another version. The message names the package
// to install.
class MissingLibrary : public std::runtime_error {
 public:
  explicit MissingLibrary(const std::string& reason) : std::runtime_error(reason) {}
};

}  // namespace shoal::data
