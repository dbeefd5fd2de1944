#pragma once
// User errors: UserError and std::invalid_argument. Both end a command with exit code 2. System
// errors are std::runtime_error with path and reason; bugs in shoal are std::logic_error.

#include <stdexcept>
#include <string>

namespace shoal {

// The message is one sentence that names the option or path and says what to do.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws UserError with `sentence` unless `ok`.
inline void require(bool ok, const std::string& sentence) {
  if (!ok) throw UserError(sentence);
}

// Throws std::invalid_argument with `sentence` unless `ok`. For library code that checks options
// and files without knowing whether they come from the user.
inline void require_valid(bool ok, const std::string& sentence) {
  if (!ok) throw std::invalid_argument(sentence);
}

}  // namespace shoal
