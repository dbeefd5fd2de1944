#pragma once
// The exceptions for each kind of error. User errors: UserError and std::invalid_argument, which
// end a command with exit code 2. System errors: other std::runtime_error, with path and reason.
// Bugs in shoal: other std::logic_error.

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

// Like require(), for library code that does not know whether the user set the invalid value.
inline void require_valid(bool ok, const std::string& sentence) {
  if (!ok) throw std::invalid_argument(sentence);
}

}  // namespace shoal
