#pragma once
// Downloads files over HTTP and HTTPS.
//
// Built as a separate library (shoal_download), so that programs that download nothing do not load
// libcurl.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

namespace shoal {

struct DownloadOptions {
  // Expected SHA-256 of the file in hexadecimal, or the first digits of it. Empty: expects the
  // digest in the header X-Linked-ETag (Hugging Face), if the server sends one.
  std::string sha256 = {};
  std::string token = {};         // bearer token, sent only to the URL's own host; empty: none
  std::string certificates = {};  // file of trusted certificate authorities; empty: the system's
  int64_t max_bytes = int64_t{8} << 30;  // larger files are refused
  double connect_seconds = 30;           // limit for name resolution, connection and TLS
  double stall_seconds = 60;             // limit for waiting without receiving a byte
  // Maximum number of consecutive retries after a broken connection or an HTTP status of 408, 429
  // or 5xx. A retry continues where the last connection stopped. A connection that delivers 1 MB
  // resets the count and the pause.
  int retries = 5;
  double retry_seconds = 1;  // pause before the first retry; each further pause is twice as long
  // Called after each received piece; must not throw. `done`: bytes received so far. `total`: size
  // of the file in bytes, or 0 if the server did not send it.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

// The server answered with an error that a retry would not fix. `status`: HTTP status, such as 404;
// never 408, 429 or 5xx.
struct HttpError : std::runtime_error {
  HttpError(const std::string& message, int http_status)
      : std::runtime_error(message), status(http_status) {}
  int status;
};

// The file does not have the expected SHA-256.
struct WrongDigest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Downloads `url` to `path`, whose folder must exist, and returns the file's SHA-256. Creates
// `path` only when the file is complete, checked and flushed to disk. Until then, its bytes are in
// .NAME.part. A later call resumes the download if the server still has the same file (it compares
// the ETag or Last-Modified that .NAME.etag contains), and otherwise starts again. Only one process
// may download to `path` at a time.
//
// Follows up to 10 redirects, only to http and https; if `url` is https, only to https. Verifies
// TLS certificates. Uses the proxies that http_proxy, https_proxy, all_proxy and no_proxy name.
//
// Throws HttpError; WrongDigest, after removing the received bytes; std::system_error if the file
// cannot be written; and std::runtime_error if
//   - the connection fails or stalls before any byte has arrived,
//   - all retries fail,
//   - a redirect is not allowed, or
//   - the server sends a web page, other bytes than requested, or more than max_bytes.
// Messages about the server contain the URL, with its login and query masked.
std::string download(const std::string& url, const std::filesystem::path& path,
                     const DownloadOptions& options = {});

}  // namespace shoal
