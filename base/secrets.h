#pragma once
// Masks passwords, keys and tokens, which must not reach logs, failure files, summaries or
// checkpoints.

#include <map>
#include <string>

namespace shoal {

// Remembers the values of environment variables whose names contain PASSWORD, TOKEN, SECRET or a
// similar word, or end with _KEY or _PWD (unless the value may be a path). masked() then
// replaces these values wherever they appear. Ignores values of fewer than 8 characters, because
// they may be ordinary words. Call before threads start.
void hide_secrets(const std::map<std::string, std::string>& environment);

// Returns `text` with each secret replaced by "***". Secrets are
//   - the values that hide_secrets() remembered,
//   - passwords and queries in URLs,
//   - keys and tokens in known formats (AWS, GitHub, GitLab, Google, Hugging Face, Slack, npm,
//     Stripe, JSON web tokens, private keys and others), and
//   - X in texts such as password=X, "token": "X" and Authorization: X.
// Thread-safe.
std::string masked(const std::string& text);

}  // namespace shoal
