#pragma once
// Passwords, keys and tokens must not reach logs, failure files, summaries or checkpoints.

#include <map>
#include <string>

namespace shoal {

// Remembers the values of environment variables whose names say that they are secret (PASSWORD,
// TOKEN, SECRET, …): masked() removes them wherever they appear. Call before threads start.
void hide_secrets(const std::map<std::string, std::string>& environment);

// Returns `text` with each secret replaced by "***": hidden values, passwords and queries in URLs,
// keys and tokens of known forms (AWS, GitHub, Hugging Face, Slack, JSON web tokens, private keys),
// and the values of password=…, "token": "…", Authorization: …. Linear in the length of `text`.
// Thread-safe.
std::string masked(const std::string& text);

}  // namespace shoal
