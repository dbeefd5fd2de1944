#pragma once
// Masks passwords, keys and tokens, which must not reach logs, failure files, summaries or
// checkpoints.

#include <map>
#include <string>

namespace shoal {

// Remembers the values of environment variables whose names contain PASSWORD, TOKEN, SECRET or a
// similar word. masked() then masks these values wherever they appear. Ignores values of fewer than
// 8 characters, which would mask ordinary words. Call before threads start.
void hide_secrets(const std::map<std::string, std::string>& environment);

// Returns `text` with each secret replaced by "***": the values from hide_secrets(), passwords and
// queries in URLs, keys and tokens of known forms (AWS, GitHub, Hugging Face, Slack, JSON web
// tokens, private keys), and values X written like password=X, "token": "X" or Authorization: X.
// Thread-safe.
std::string masked(const std::string& text);

}  // namespace shoal
