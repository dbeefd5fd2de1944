#pragma once
// Errors for mistakes of the user. System errors are std::runtime_error with path and reason; our
// own bugs are assertions. Both errors below end a command with exit code 2.

#include <stdexcept>
#include <string>

namespace shoal {

// One sentence that names the option or path and says what to do.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws UserError with the sentence unless `ok`.
inline void require(bool ok, const std::string& sentence) {
  if (!ok) throw UserError(sentence);
}

// Throws std::invalid_argument with the sentence unless `ok`. For libraries that check the options
// and files they are given, but do not know whether a user gave them.
inline void require_valid(bool ok, const std::string& sentence) {
  if (!ok) throw std::invalid_argument(sentence);
}

}  // namespace shoal
