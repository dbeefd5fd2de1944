#pragma once
// The mistakes of a user, as opposed to failures of the world (std::runtime_error with path and
// reason) and to our own bugs (assertions).

#include <stdexcept>
#include <string>

namespace shoal {

// One sentence that names the option or path and says what to do. Exit code 2.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws UserError with the sentence unless `ok`.
inline void require(bool ok, const std::string& sentence) {
  if (!ok) throw UserError(sentence);
}

}  // namespace shoal
