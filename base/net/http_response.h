#pragma once
// Reads the HTTP response headers that a download needs.

#include <cstdint>
#include <string>

namespace shoal {

struct HttpResponse {
  int status = 0;
  int64_t length = 0;        // bytes of the body; 0: unknown
  int64_t range_begin = -1;  // Content-Range: position of the first byte; -1: none
  int64_t range_total = 0;   // Content-Range: size of the whole file; 0: unknown
  // ETag, Last-Modified and Content-Type (in lower case); empty: none.
  std::string etag, modified, type;
  std::string linked_sha256;  // X-Linked-ETag, if it is a SHA-256

  // Reads one header line. A status line starts a new response, for example after a redirect, and
  // resets all fields except linked_sha256, because Hugging Face sends it with the redirect.
  void read_line(const std::string& line);

  // Returns the value for an If-Range header that requests the rest of the same file: the ETag if
  // it is strong, Last-Modified if there is no ETag, otherwise empty.
  std::string validator() const;
};

}  // namespace shoal
