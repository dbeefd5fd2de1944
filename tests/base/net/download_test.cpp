#include "base/net/download.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/base/net/no_proxies.h"
#include "tests/support/downloads.h"

using namespace shoal;
using namespace shoal::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Sets an environment variable, which libcurl reads. The destructor removes it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("a download is the file, with its digest, and reports its progress") {
  const std::string content = content_of(300000);
  const HttpServer server(serving(content, "\"a\""));
  const Target target;
  int64_t done = 0, size = 0;
  DownloadOptions options = quick();
  options.sha256 = sha256(content).substr(0, 8);
  options.progress = [&](int64_t now, int64_t total) {
    CHECK(now > done);
    done = now, size = total;
  };
  CHECK(download(server.url("/model.pth"), target.path, options) == sha256(content));
  CHECK(target.text() == content);
  CHECK(target.is_tidy());
  CHECK(done == 300000);
  CHECK(size == 300000);
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].header("range").empty());
}

TEST_CASE("a connection that breaks is continued where it stopped") {
  const std::string content = content_of(300000);
  const HttpServer server(cutting(content, "\"a\"", 100000));
  const Target target;
  CHECK(download(server.url("/model.pth"), target.path, quick()) == sha256(content));
  CHECK(target.text() == content);
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[1].header("range") == "bytes=100000-");
  CHECK(requests[1].header("if-range") == "\"a\"");
  CHECK(requests[2].header("range") == "bytes=200000-");
}

TEST_CASE("a download that breaks off at the same byte each time is given up") {
  const std::string content = content_of(3'000'000);
  const HttpServer server(cutting(content, "", 2'000'000));  // without ETag: nothing can be resumed
  const Target target;
  DownloadOptions options = quick();
  options.retries = 2;
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options),
                    Contains("cannot download"));
  CHECK(server.requests().size() == 3);
}

TEST_CASE("if a server sends only a part of the requested range, the rest is requested") {
  const std::string content = content_of(300000);
  const HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = file_answer(r, content, "\"a\"");
    if (answer.status == 200) answer.cut = 100000;
    if (answer.status == 206 && answer.body.size() > 150000) answer.body.resize(150000);
    return answer;
  });
  const Target target;
  CHECK(download(server.url("/model.pth"), target.path, quick()) == sha256(content));
  CHECK(target.text() == content);
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a later call continues what an earlier one has received") {
  const std::string content = content_of(300000);
  HttpServer server(cutting(content, "\"a\"", 120000));
  const Target target;
  DownloadOptions options = quick();
  options.retries = 0;
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options),
                    Contains(server.url("/model.pth")));
  CHECK_FALSE(fs::exists(target.path));
  CHECK(fs::file_size(target.part) == 120000);
  server.answer_with(serving(content, "\"a\""));
  download(server.url("/model.pth"), target.path, options);
  CHECK(target.text() == content);
  CHECK(target.is_tidy());
  CHECK(server.requests().back().header("range") == "bytes=120000-");
}

TEST_CASE("bytes that may belong to another file are downloaded again") {
  const std::string old_content = content_of(300000, 1), content = content_of(200000, 2);
  const Target target;
  DownloadOptions options = quick();
  options.retries = 0;
  HttpServer server(serving("", ""));
  const auto receive_part = [&](const std::string& etag) {
    server.answer_with(cutting(old_content, etag, 120000));
    CHECK_THROWS(download(server.url("/model.pth"), target.path, options));
    CHECK(fs::file_size(target.part) == 120000);
  };
  SECTION("the file changed on the server") {
    receive_part("\"old\"");
    server.answer_with(serving(content, "\"new\""));
    download(server.url("/model.pth"), target.path, options);
    CHECK(server.requests().back().header("if-range") == "\"old\"");
  }
  SECTION("the file changed, but the server ignores If-Range") {
    receive_part("\"old\"");
    server.answer_with([&](HttpRequest r) {
      const size_t condition = r.head.find("If-Range");
      if (condition != std::string::npos) r.head.replace(condition, 8, "X-Range-");
      return file_answer(r, content, "\"new\"");
    });
    options.retries = 1;
    download(server.url("/model.pth"), target.path, options);
  }
  SECTION("the server does not support ranges") {
    receive_part("\"old\"");
    server.answer_with(always({200, {}, content}));
    download(server.url("/model.pth"), target.path, options);
  }
  SECTION("the server sends no usable ETag") {
    receive_part("W/\"weak\"");
    server.answer_with(always({200, {}, content}));
    download(server.url("/model.pth"), target.path, options);
    CHECK(server.requests().back().header("range").empty());
  }
  SECTION("the server now has fewer bytes") {
    receive_part("\"same\"");
    const std::string head = content.substr(0, 1000);
    server.answer_with(serving(head, "\"same\""));
    options.retries = 1;
    download(server.url("/model.pth"), target.path, options);
    CHECK(target.text() == head);
    return;
  }
  CHECK(target.text() == content);
  CHECK(target.is_tidy());
}

TEST_CASE("a server that sends another range than requested is refused") {
  const std::string content = content_of(300000);
  const HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = file_answer(r, content, "\"a\"");
    if (answer.status == 206) answer.headers.back() = "Content-Range: bytes 0-1/300000";
    answer.cut = 120000;
    return answer;
  });
  const Target target;
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, quick()),
                    Contains("other bytes"));
  CHECK_FALSE(fs::exists(target.path));
}

TEST_CASE("a complete file that was not yet renamed needs no byte") {
  const std::string content = content_of(1000);
  const HttpServer server(serving(content, "\"a\""));
  const Target target;
  write_text(target.part, content);
  write_text(target.etag, "\"a\"");
  download(server.url("/model.pth"), target.path, quick());
  CHECK(server.requests().size() == 1);
  CHECK(target.text() == content);
  CHECK(target.is_tidy());
}

TEST_CASE("a proxy's refusal is not reported as the server's answer") {
  const HttpServer proxy(always({407, {}, ""}));
  const Target target;
  const Variable variable("https_proxy", proxy.url());
  CHECK_THROWS_WITH(download("https://weights.invalid/model.pth", target.path, quick()),
                    Contains("cannot download") && !Contains("HTTP status 0"));
}

TEST_CASE("the proxy of the environment is used") {
  const std::string content = content_of(1000);
  const HttpServer proxy(serving(content, "\"a\""));
  const Target target;
  const Variable variable("http_proxy", proxy.url());
  download("http://weights.invalid/model.pth", target.path, quick());
  CHECK(target.text() == content);
  REQUIRE(proxy.requests().size() == 1);
  CHECK(proxy.requests()[0].target == "http://weights.invalid/model.pth");
}
