#pragma once
// One GET request over HTTP or HTTPS, including its redirects. Only http_get.cpp includes libcurl.

#include <cstdint>
#include <functional>
#include <string>

#include "base/net/http_response.h"

namespace shoal {

struct HttpGet {
  std::string url;
  std::string token = {};         // bearer token, sent only to the URL's own host; empty: none
  std::string certificates = {};  // file of trusted certificate authorities; empty: the system's
  double connect_seconds = 30;    // limit for name resolution, connection and TLS
  int64_t offset = 0;             // first byte to request
  // With an offset: ETag or date of the bytes received before. If the file has changed since, the
  // server sends all of it.
  std::string if_range = {};
  // Receives the body of a response with status 200 or 206, in pieces. False ends the connection.
  std::function<bool(const HttpResponse& response, const char* bytes, size_t size)> take = {};
  // Called about once a second and after each piece. False ends the connection.
  std::function<bool()> keep_going = {};
};

struct HttpResult {
  enum class End {
    complete,  // the whole response was received; its status is below 400
    refused,   // the status is 400 or more
    broken,    // the connection failed or ended early, or `take` or `keep_going` ended it
    forbidden  // the URL or a redirect has a protocol that is not allowed, or too many redirects
  };
  End end = End::broken;
  HttpResponse response;  // the last one, after all redirects
  std::string problem;    // why the request failed
};

// Sends the request and returns when the response has ended. `take` and `keep_going` must be set
// and must not throw. Throws std::runtime_error if libcurl cannot be used.
HttpResult http_get(const HttpGet& request);

}  // namespace shoal
