# Writes version and commit to the C++ file OUTPUT if they have changed. Runs at every build:
#   cmake -DSOURCE=... -DOUTPUT=... -DVERSION=... -P Version.cmake
# The environment variable SHOAL_COMMIT, if set, replaces the commit that git reports. The container
# image needs it, because its source tree has no .git.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT "$ENV{SHOAL_COMMIT}" STREQUAL "")
  set(commit "$ENV{SHOAL_COMMIT}")
elseif(commit)
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "-dirty")
  endif()
else()
  set(commit unknown)  # no git, or not a checkout
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[#include "app/version.h"

namespace shoal::app {

const char* const kVersion = "@VERSION@";
const char* const kCommit = "@commit@";

}  // namespace shoal::app
]] @ONLY)
