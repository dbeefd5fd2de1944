#pragma once
// The header of an HTTP response, as far as downloads use it.

#include <cstdint>
#include <string>

namespace shoal {

struct HttpResponse {
  int status = 0;
  int64_t length = 0;        // bytes of the body; 0: unknown
  int64_t range_begin = -1;  // Content-Range: position of the first byte; -1: none
  int64_t range_total = 0;   // Content-Range: size of the whole file; 0: unknown
  std::string etag, modified, type;
  std::string linked_sha256;  // X-Linked-ETag, if it is a SHA-256

  // Reads one header line. A status line begins a new response, for example after a redirect, and
  // resets all fields except linked_sha256, which Hugging Face sends with the redirect.
  void read_line(const std::string& line);

  // Returns the value for If-Range that means "the same bytes as in this response": a strong ETag,
  // or the date if there is no ETag; empty: none.
  std::string validator() const;
};

}  // namespace shoal
