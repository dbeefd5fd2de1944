// Tests downloads that fail, are refused or must not reveal secrets.
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>

#include "tests/support/downloads.h"

using namespace shoal;
using namespace shoal::test;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a wrong digest removes the bytes, and the error names both digests") {
  const std::string content = content_of(1000), other(64, 'a');
  HttpServer server(always({200, {}, content}));
  const Target target;
  DownloadOptions options = quick();
  SECTION("of the caller") {
    options.sha256 = "0123ABCD";
  }
  SECTION("of the server") {
    server.answer_with(always({200, {"X-Linked-Etag: \"" + other + "\""}, content}));
  }
  const std::string expected = options.sha256.empty() ? other : "0123abcd";
  try {
    download(server.url("/model.pth"), target.path, options);
    FAIL("no error");
  } catch (const WrongDigest& error) {
    CHECK_THAT(error.what(), Contains(server.url("/model.pth")) && Contains(sha256(content)) &&
                                 Contains(expected));
  }
  CHECK_FALSE(fs::exists(target.path));
  CHECK(target.is_tidy());
}

TEST_CASE("the server's digest is that of the answer before the redirect") {
  const std::string content = content_of(1000);
  const HttpServer server([&](const HttpRequest& request) {
    if (request.target == "/model.pth")
      return HttpAnswer{302,
                        {"Location: /store", "x-linked-etag: \"" + std::string(64, '0') + "\""}};
    return file_answer(request, content, "\"a\"");
  });
  const Target target;
  CHECK_THROWS_AS(download(server.url("/model.pth"), target.path, quick()), WrongDigest);
  DownloadOptions options = quick();
  options.sha256 = sha256(content);  // overrides the server's digest
  download(server.url("/model.pth"), target.path, options);
  CHECK(target.text() == content);
}

TEST_CASE("errors of the server have their status, and only temporary ones are tried again") {
  HttpServer server(always({}));
  const Target target;
  DownloadOptions options = quick();
  options.retries = 2;
  for (const int code : {401, 404, 410}) {
    server.answer_with(always({code, {}, "no"}));
    try {
      download(server.url("/model.pth"), target.path, options);
      FAIL("no error");
    } catch (const HttpError& error) {
      CHECK(error.status == code);
      CHECK_THAT(error.what(),
                 Contains(std::to_string(code)) && Contains(server.url("/model.pth")));
    }
  }
  CHECK(server.requests().size() == 3);
  server.answer_with(always({503, {}, "no"}));
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options), Contains("503"));
  CHECK(server.requests().size() == 6);
}

TEST_CASE("redirects are followed, but only to http and https, and not without end") {
  const std::string content = content_of(1000);
  HttpServer server([&](const HttpRequest& request) {
    if (request.target == "/model.pth") return HttpAnswer{302, {"Location: /store/x"}, "moved"};
    return file_answer(request, content, "\"a\"");
  });
  const Target target;
  download(server.url("/model.pth"), target.path, quick());
  CHECK(target.text() == content);
  fs::remove(target.path);
  write_text(target.folder / "secret", "secret");
  const std::pair<std::string, std::string> bad[] = {
      {"file://" + (target.folder / "secret").string(), "rotocol"},
      {"ftp://127.0.0.1/x", "rotocol"},
      {"/model.pth", "redirects"}};
  for (const auto& [location, reason] : bad) {
    server.answer_with(always({302, {"Location: " + location}, "moved"}));
    CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, quick()),
                      Contains(server.url("/model.pth")) && Contains(reason));
    CHECK_FALSE(fs::exists(target.path));
  }
  CHECK_THROWS(download("file://" + (target.folder / "secret").string(), target.path, quick()));
  CHECK_FALSE(fs::exists(target.path));
}

TEST_CASE("a server that stalls is left after the limit") {
  const std::string content = content_of(3000);
  const auto stalling = [&](size_t after) {
    return [&, after](const HttpRequest& r) {
      HttpAnswer answer = file_answer(r, content, "\"a\"");
      answer.cut = after;
      answer.stalls = true;
      return answer;
    };
  };
  HttpServer server(stalling(0));
  const Target target;
  DownloadOptions options = quick();
  options.stall_seconds = 0.2;
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options),
                    Contains("no data for 0.2 s"));
  CHECK(server.requests().size() == 1);
  server.answer_with(stalling(1000));
  options.retries = 1;
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options),
                    Contains("no data for 0.2 s"));
  CHECK(server.requests().size() == 3);
  CHECK(fs::file_size(target.part) == 2000);
}

TEST_CASE("a server that does not exist fails at once, with the URL but without its password") {
  std::optional<HttpServer> gone(std::in_place, [](const HttpRequest&) { return HttpAnswer(); });
  const std::string address = "127.0.0.1:" + std::to_string(gone->port());
  gone.reset();
  const Target target;
  DownloadOptions options;
  options.retry_seconds = 1000;  // a retry would exceed the test's timeout
  CHECK_THROWS_WITH(
      download("http://me:pass-word@" + address + "/m.pth?key=hidden", target.path, options),
      Contains("http://me:***@" + address + "/m.pth?***") && !Contains("hidden"));
}

TEST_CASE("web pages and files that are too large are refused") {
  const std::string content = content_of(3000);
  HttpServer server(always({200, {"Content-Type: text/html; charset=utf-8"}, content}));
  const Target target;
  DownloadOptions options = quick();
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options), Contains("web page"));
  server.answer_with(always({200, {}, content}));
  options.max_bytes = 2999;
  CHECK_THROWS_WITH(download(server.url("/model.pth"), target.path, options), Contains("limit"));
  CHECK_FALSE(fs::exists(target.path));
  options.max_bytes = 3000;
  download(server.url("/model.pth"), target.path, options);
  CHECK(target.text() == content);
}

TEST_CASE("a token is sent to the host of the URL, and not to the target of a redirect") {
  const std::string content = content_of(1000);
  const HttpServer store(serving(content, "\"a\""));
  const HttpServer server([&](const HttpRequest&) {
    return HttpAnswer{302, {"Location: http://localhost:" + std::to_string(store.port()) + "/x"}};
  });
  const Target target;
  DownloadOptions options = quick();
  options.token = "my-token";
  download(server.url("/model.pth"), target.path, options);
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].header("authorization") == "Bearer my-token");
  REQUIRE(store.requests().size() == 1);
  CHECK(store.requests()[0].header("authorization").empty());
}

TEST_CASE("a folder that cannot be written is named") {
  const HttpServer server(always({200, {}, "x"}));
  CHECK_THROWS_WITH(download(server.url("/m"), "/no/such/folder/m", quick()),
                    Contains("cannot write /no/such/folder/m"));
  CHECK(server.requests().empty());
}
