#pragma once
// Version of shoal. Does not use LibTorch.

namespace shoal::app {

extern const char* const kVersion;  // "0.1.0"
// Git commit of the build, with "-dirty" if tracked files had changes; "unknown" without Git.
extern const char* const kCommit;

}  // namespace shoal::app
