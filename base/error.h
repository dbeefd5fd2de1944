#pragma once
// User errors are UserError and std::invalid_argument; they end a command with exit code 2. Other
// exceptions derived from std::runtime_error are system errors; their messages contain path and
// reason. Other exceptions derived from std::logic_error are bugs in shoal.

#include <stdexcept>
#include <string>

namespace shoal {

// An error that the user can fix. The message is one sentence that names the option or path and
// says what to do.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool ok, const std::string& sentence) {
  if (!ok) throw UserError(sentence);
}

// As require(), but with std::invalid_argument, for code that does not know who set the value.
inline void require_valid(bool ok, const std::string& sentence) {
  if (!ok) throw std::invalid_argument(sentence);
}

}  // namespace shoal
