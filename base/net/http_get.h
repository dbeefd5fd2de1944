#pragma once
// Sends a GET request over HTTP or HTTPS and follows redirects. Only http_get.cpp includes libcurl.

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
  // ETag or date of the file whose first `offset` bytes were received earlier. If the file has
  // changed since, the server sends all of it. Ignored if `offset` is 0.
  std::string if_range = {};
  // Called with each piece of the body of a response with status 200 or 206. Return false to end
  // the connection.
  std::function<bool(const HttpResponse& response, const char* bytes, size_t size)> take = {};
  // Called about once a second and after each piece. Return false to end the connection.
  std::function<bool()> keep_going = {};
};

struct HttpResult {
  enum class End {
    complete,  // the whole response was received; its status is below 400
    refused,   // the status is 400 or more
    broken,    // the connection failed or ended early, or `take` or `keep_going` ended it
    forbidden  // the URL's or a redirect's protocol is not allowed, or there are over 10 redirects
  };
  End end = End::broken;
  HttpResponse response;  // the last response, after all redirects
  std::string problem;    // why the request failed; meaningless if `end` is complete
};

// Sends the request and returns when the response has ended. `take` and `keep_going` must be set
// and must not throw. Throws std::runtime_error if libcurl cannot be used.
HttpResult http_get(const HttpGet& request);

}  // namespace shoal
