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
  // SHA-256 of the file in hexadecimal, or its first digits. Empty: the digest in the header
  // X-Linked-ETag (Hugging Face), if the server sends one.
  std::string sha256 = {};
  std::string token = {};         // bearer token, sent only to the URL's own host; empty: none
  std::string certificates = {};  // file of trusted certificate authorities; empty: the system's
  int64_t max_bytes = int64_t{8} << 30;  // larger files are refused
  double connect_seconds = 30;           // limit for name resolution, connection and TLS
  double stall_seconds = 60;             // limit for waiting without receiving a byte
  int retries = 5;  // consecutive retries after a broken connection or an HTTP status 408, 429 or
                    // 5xx; each continues where the last connection stopped; a connection that
                    // delivers 1 MB resets the count
  double retry_seconds = 1;  // pause before the first retry; each further pause is twice as long
  // Called after each received piece; must not throw. `done` and `total`: bytes so far and of the
  // whole file; `total` is 0 if the server did not send the size.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

// The server answered with an error that a retry cannot change. `status`: HTTP status, such as 404;
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

// Downloads `url` to `path`, whose folder must exist, and returns the file's SHA-256. The file
// appears under its name only when it is complete, checked and flushed to disk. Until then its
// bytes are in .NAME.part. A later call continues that file if the server still has the same one
// (ETag or Last-Modified, in .NAME.etag), and otherwise replaces it. Only one process may download
// to `path` at a time.
//
// Follows up to 10 redirects, only to http and https; if `url` is https, only to https. Verifies
// TLS certificates. Uses the proxies that http_proxy, https_proxy, all_proxy and no_proxy name.
//
// Throws HttpError; WrongDigest, after removing the received bytes; std::runtime_error if the
// connection fails, breaks too often or stalls, if the server keeps answering with HTTP status 408,
// 429 or 5xx, or if the answer is a web page or too large; and std::system_error if the file cannot
// be written. Messages about the server contain the URL, with its login and query masked.
std::string download(const std::string& url, const std::filesystem::path& path,
                     const DownloadOptions& options = {});

}  // namespace shoal
