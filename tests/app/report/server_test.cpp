#include "app/report/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "app/report/report.h"
#include "base/error.h"
#include "base/net/host.h"
#include "tests/app/report/sample_run.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::app;
using namespace shoal::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Serves a sample run in a thread.
struct Serving {
  TemporaryDirectory directory;
  fs::path folder = directory.path() / "run";
  std::unique_ptr<ReportServer> server;
  std::thread thread;
  int port = 0;

  explicit Serving(const std::string& address = "127.0.0.1") {
    write_sample_run(folder);
    server = std::make_unique<ReportServer>(std::vector{folder.string()}, address, 0);
    const std::string url = server->url();
    port = std::stoi(url.substr(url.rfind(':') + 1));
    thread = std::thread([this] { server->run(); });
  }
  ~Serving() {
    server->stop();
    thread.join();
  }

  // Returns the response to a GET request. Stops reading once `enough` accepts its beginning.
  std::string get(const std::string& target, const std::string& host = "localhost",
                  const std::function<bool(const std::string&)>& enough = {}) const {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(connection, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
    const std::string request =
        "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
    REQUIRE(::send(connection, request.data(), request.size(), 0) ==
            static_cast<ssize_t>(request.size()));
    std::string answer;
    char part[65536];
    for (ssize_t got;
         !(enough && enough(answer)) && (got = ::recv(connection, part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<size_t>(got));
    ::close(connection);
    return answer;
  }
};

}  // namespace

TEST_CASE("the served page shows the newest numbers") {
  const Serving serving;
  const std::string page = serving.get("/");
  REQUIRE_THAT(page, Contains("200 OK") && Contains("connect-src 'self'"));
  REQUIRE(data_in(page)["live"] == true);
  const auto steps = [&] {
    const std::string answer = serving.get("/data");
    const auto data = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n")));
    return data["runs"][0]["history"]["train"]["step"].size();
  };
  REQUIRE(steps() == 3);
  std::ofstream(serving.folder / "history.jsonl", std::ios::app) << train_row(1, 11, 21, 1);
  REQUIRE(steps() == 4);
  REQUIRE_THAT(serving.get("/other"), Contains("404"));
  fs::remove(serving.folder / "history.jsonl");
  REQUIRE_THAT(serving.get("/data"), Contains("500") && Contains("history.jsonl"));
}

TEST_CASE("the server sends an event when a file has changed since the last event") {
  const Serving serving;
  const auto has_event = [](const std::string& got) {
    return got.find("data: changed\n\n") != got.npos;
  };
  const std::string first = serving.get("/events", "127.0.0.1", has_event);
  REQUIRE_THAT(first, Contains("text/event-stream") && Contains("data: changed\n\n"));
  const std::string header = "127.0.0.1\r\nLast-Event-ID: " + between(first, "id: ", "\n");
  bool changed = false;
  const std::string again = serving.get("/events", header, [&](const std::string& got) {
    if (!changed && got.find(":\n\n") != got.npos) {  // the stream has begun
      REQUIRE_FALSE(has_event(got));
      changed = true;
      std::ofstream(serving.folder / "history.jsonl", std::ios::app) << "{}\n";
    }
    return has_event(got);
  });
  REQUIRE(changed);
  REQUIRE(has_event(again));
  // A change between two connections is not missed.
  REQUIRE(has_event(serving.get("/events", header, has_event)));
}

TEST_CASE("on a loopback address only requests to this machine's names are answered") {
  const Serving serving;
  for (const char* host : {"localhost", "127.0.0.1:8600", "[::1]", "[::1]:8600"})
    REQUIRE_THAT(serving.get("/data", host), Contains("200 OK"));
  for (const char* host : {"evil.example", "127.evil.example", "localhost.evil.example", ""})
    REQUIRE_THAT(serving.get("/data", host), Contains("403") && !Contains("runs"));
}

TEST_CASE("on another address a token is required") {
  const Serving serving("0.0.0.0");
  const std::string token = serving.server->url().substr(serving.server->url().find("?"));
  REQUIRE(token.size() == std::string("?token=").size() + 32);
  CHECK_THAT(serving.server->url(), Contains(host_name()));  // 0.0.0.0 cannot be opened elsewhere
  for (const char* path : {"/", "/data"})
    REQUIRE_THAT(serving.get(path + token, "any.example"), Contains("200 OK"));
  for (const char* target : {"/", "/data", "/events", "/data?token=", "/data?token=0"})
    REQUIRE_THAT(serving.get(target), Contains("403") && !Contains("runs"));
  REQUIRE_THAT(serving.get("/data" + token.substr(0, token.size() - 1)), Contains("403"));
  const Serving another("0.0.0.0");
  REQUIRE(another.server->url().substr(another.server->url().find("?")) != token);
}

TEST_CASE("if the port is in use, the next free one is proposed") {
  const Serving serving;
  const auto second = [&](int port) { ReportServer({serving.folder.string()}, "127.0.0.1", port); };
  REQUIRE_THROWS_AS(second(serving.port), UserError);
  REQUIRE_THROWS_WITH(second(serving.port),
                      Contains("port " + std::to_string(serving.port) + " is in use") &&
                          Contains("--serve ") && Contains("is free"));
  REQUIRE_THROWS_WITH(ReportServer({serving.folder.string()}, "nonsense", 0),
                      Contains("--address"));
  REQUIRE_THROWS_WITH(ReportServer({"/nowhere"}, "127.0.0.1", 0), Contains("/nowhere"));
}
