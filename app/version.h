#pragma once
// Which shoal this is. Torch-free.

namespace shoal::app {

extern const char* const kVersion;  // "0.1.0"
// The commit it was built from, "-dirty" behind it when files were changed, or "unknown".
extern const char* const kCommit;

}  // namespace shoal::app
