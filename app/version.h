#pragma once
// Version of shoal. Does not use LibTorch.

namespace shoal::app {

extern const char* const kVersion;  // "0.1.0"
// The commit of the build, with "-dirty" if files were changed, or "unknown".
extern const char* const kCommit;

}  // namespace shoal::app
