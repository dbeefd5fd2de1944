#pragma once
// When the program starts, removes the environment variables with which libcurl chooses proxies.
// Include this in one file of a test program that downloads from servers on this host.

#include <cstdlib>
#include <initializer_list>

namespace shoal::test {

inline const bool no_proxies = [] {
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                           "no_proxy", "NO_PROXY"})
    ::unsetenv(name);
  return true;
}();

}  // namespace shoal::test
