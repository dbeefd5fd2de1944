#include "base/net/http_response.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace shoal {
namespace {

// Parses a Content-Range such as "bytes 100-199/200" or "bytes */200".
void read_range(const std::string& text, HttpResponse& response) {
  const size_t digits = text.find_first_of("0123456789*"), slash = text.find('/');
  if (digits == text.npos || slash == text.npos) return;
  if (text[digits] != '*') response.range_begin = std::atoll(text.c_str() + digits);
  response.range_total = std::max(0ll, std::atoll(text.c_str() + slash + 1));
}

}  // namespace

void HttpResponse::read_line(const std::string& line) {
  if (line.starts_with("HTTP/")) {
    const std::string linked = linked_sha256;
    *this = {};
    linked_sha256 = linked;
    status = std::atoi(line.c_str() + std::min(line.find(' '), line.size()));
    return;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  const std::string name = lower(line.substr(0, colon));
  const size_t first = line.find_first_not_of(" \t\r\n", colon + 1);
  const size_t last = line.find_last_not_of(" \t\r\n");
  const std::string value = first == line.npos ? "" : line.substr(first, last + 1 - first);
  if (name == "content-length") length = std::max(0ll, std::atoll(value.c_str()));
  if (name == "content-range") read_range(value, *this);
  if (name == "content-type") type = lower(value);
  if (name == "etag") etag = value;
  if (name == "last-modified") modified = value;
  if (name == "x-linked-etag" && value.size() == 66 &&
      value.find_first_not_of("0123456789abcdef", 1) == 65)
    linked_sha256 = value.substr(1, 64);
}

std::string HttpResponse::validator() const {
  if (etag.empty()) return modified;
  return etag.starts_with("\"") ? etag : "";
}

}  // namespace shoal
