#pragma once
// Exceptions of data/. For user errors (a folder without classes, an odd batch size with mixup),
// functions throw std::invalid_argument with one sentence. For failed system calls, they throw
// std::runtime_error with path and reason.

#include <stdexcept>
#include <string>

namespace shoal::data {

// The bytes are not a complete image. The message does not name the file; callers that know the
// file add its name.
class DamagedImage : public std::runtime_error {
 public:
  explicit DamagedImage(const std::string& reason) : std::runtime_error(reason) {}
};

// A library that is loaded on demand is missing or has the wrong version. The message names the
// package to install.
class MissingLibrary : public std::runtime_error {
 public:
  explicit MissingLibrary(const std::string& reason) : std::runtime_error(reason) {}
};

}  // namespace shoal::data
