#pragma once
// Exceptions of data/. Besides these, user errors (a folder without classes, an odd batch size with
// mixup) throw std::invalid_argument with one sentence. Failed system calls throw
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

// A library that is loaded on demand is missing or of another version. The message names the
// package to install.
class MissingLibrary : public std::runtime_error {
 public:
  explicit MissingLibrary(const std::string& reason) : std::runtime_error(reason) {}
};

}  // namespace shoal::data
