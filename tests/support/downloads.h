#pragma once
// Shared by the tests of downloads.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/net/download.h"
#include "base/net/sha256.h"
#include "tests/support/capture.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace shoal::test {

// Returns pseudo-random bytes.
inline std::string content_of(size_t size, unsigned seed = 1) {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return text;
}

inline std::string sha256(const std::string& text) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "file", std::ios::binary) << text;
  return sha256_of(directory.path() / "file");
}

inline DownloadOptions quick() {
  DownloadOptions options;
  options.retry_seconds = 0;
  return options;
}

// A folder and a file to download to.
struct Target {
  Folder folder;
  const std::filesystem::path path = folder / "model.pth", part = folder / ".model.pth.part",
                              etag = folder / ".model.pth.etag";

  std::string text() const { return read_text(path); }
  bool is_tidy() const { return !std::filesystem::exists(part) && !std::filesystem::exists(etag); }
};

// Answerers for HttpServer. serving() serves a file. cutting() serves it too, but closes each
// connection after `cut` bytes of the body. always() gives the same answer to every request.
inline Answerer serving(const std::string& content, const std::string& etag) {
  return [=](const HttpRequest& request) { return file_answer(request, content, etag); };
}
inline Answerer cutting(const std::string& content, const std::string& etag, size_t cut) {
  return [=](const HttpRequest& request) {
    HttpAnswer answer = file_answer(request, content, etag);
    answer.cut = cut;
    return answer;
  };
}
inline Answerer always(HttpAnswer answer) {
  return [answer = std::move(answer)](const HttpRequest&) { return answer; };
}

}  // namespace shoal::test
