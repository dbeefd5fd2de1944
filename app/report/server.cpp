#include "app/report/server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "app/report/report.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/net/host.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr int kThreads = 32;        // each open page occupies one thread
constexpr int kMaxStreams = 24;     // event streams; the other threads answer short requests
constexpr int kStreamSeconds = 60;  // life of one event stream; then the browser reconnects
constexpr auto kPollInterval = std::chrono::milliseconds(250);

std::string random_token() {
  uint64_t words[2];
  if (::getrandom(words, sizeof words, 0) != sizeof words)
    throw std::runtime_error("the system has no random numbers for a token");
  return hex(words[0]) + hex(words[1]);
}

// Compares in constant time, so that the time does not reveal where a wrong token differs.
bool equal(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

// Replaces the library's socket options. Those set SO_REUSEPORT, so two servers could share a port.
void set_socket_options(socket_t socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

// Returns the first free port among the 100 after `port`; 0 if there is none.
int next_free(const std::string& address, int port) {
  for (int next = port + 1; next <= std::min(port + 100, 65535); ++next) {
    httplib::Server probe;
    probe.set_socket_options(set_socket_options);
    if (probe.bind_to_port(address, next)) return next;
  }
  return 0;
}

// A thread pool that stops the server once `stopping` is true. Unlike a direct call of the
// library's stop(), this also works if `stopping` is set before the server listens.
class Threads final : public httplib::ThreadPool {
 public:
  Threads(httplib::Server& server, const std::atomic<bool>& stopping)
      : ThreadPool(kThreads), server_(server), stopping_(stopping) {}
  void on_idle() override {
    if (stopping_) server_.stop();
  }

 private:
  httplib::Server& server_;
  const std::atomic<bool>& stopping_;
};

}  // namespace

struct ReportServer::State {
  std::vector<std::string> runs;
  std::string address, token;  // token: empty on a loopback address
  int port = 0;
  httplib::Server server;
  std::atomic<int> streams = 0;
  std::atomic<bool> stopping = false;

  std::mutex mutex;
  std::string stamp, data;  // results of report_stamp() and report_data(); guarded by `mutex`

  bool admits(const httplib::Request& request) const;
  std::string newest_data();
  void answer(httplib::Response& response, const char* type,
              const std::function<std::string()>& text);
  void stream(const std::string& last_id, httplib::Response& response);
  bool send_events(std::string& seen, httplib::DataSink& sink) const;
};

bool ReportServer::State::admits(const httplib::Request& request) const {
  if (!token.empty()) return equal(request.get_param_value("token"), token);
  std::string host = request.get_header_value("Host");
  if (const size_t colon = host.rfind(':'); colon != host.npos && !host.ends_with(']'))
    host.resize(colon);
  return host == "[::1]" || names_loopback(host);
}

// Returns report_data(). Reads the files only if they have changed since the last call.
std::string ReportServer::State::newest_data() {
  const std::lock_guard lock(mutex);
  if (std::string now = report_stamp(runs); now != stamp) {
    data = report_data(runs, /*live=*/true);
    stamp = std::move(now);
  }
  return data;
}

void ReportServer::State::answer(httplib::Response& response, const char* type,
                                 const std::function<std::string()>& text) {
  response.set_header("Cache-Control", "no-store");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Content-Security-Policy", report_policy(true) + "; frame-ancestors 'none'");
  try {
    response.set_content(text(), type);
  } catch (const std::exception& error) {
    response.status = 500;
    response.set_content(printable(error.what()) + "\n", "text/plain");
  }
}

// Sends the next part of a stream. If the files' stamp differs from `seen`, sends an event, else a
// comment, which only tests the connection. Returns false if the browser has closed the connection.
bool ReportServer::State::send_events(std::string& seen, httplib::DataSink& sink) const {
  std::string now = report_stamp(runs);
  const std::string text = now == seen ? ":\n\n" : "id: " + now + "\ndata: changed\n\n";
  seen = std::move(now);
  if (!sink.write(text.data(), text.size())) return false;
  std::this_thread::sleep_for(kPollInterval);
  return true;
}

// The stream begins with an event, unless the browser sends the current stamp as the id of its last
// event. So the browser also learns of changes from before it connected.
void ReportServer::State::stream(const std::string& last_id, httplib::Response& response) {
  if (streams.fetch_add(1) >= kMaxStreams) {
    --streams;
    response.status = 503;
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kStreamSeconds);
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, end, seen = last_id](size_t, httplib::DataSink& sink) mutable {
        if (stopping || std::chrono::steady_clock::now() > end) {
          sink.done();
          return true;
        }
        return send_events(seen, sink);
      },
      [this](bool) { --streams; });
}

ReportServer::ReportServer(std::vector<std::string> runs, const std::string& address, int port)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.runs = std::move(runs);
  state.address = address;
  if (!is_loopback(address)) state.token = random_token();
  unsigned char binary[16];
  require(::inet_pton(AF_INET, address.c_str(), binary) == 1 ||
              ::inet_pton(AF_INET6, address.c_str(), binary) == 1,
          "--address: '" + address + "' is not an IP address");
  httplib::Server& server = state.server;
  server.new_task_queue = [&state] { return new Threads(state.server, state.stopping); };
  server.set_idle_interval(kPollInterval);
  server.set_socket_options(set_socket_options);
  server.set_pre_routing_handler([&state](const auto& request, auto& response) {
    if (state.admits(request)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content("open the URL that shoal report printed\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/", [&state](const auto&, auto& response) {
    state.answer(response, "text/html; charset=utf-8",
                 [&] { return report_page(state.newest_data(), true); });
  });
  server.Get("/data", [&state](const auto&, auto& response) {
    state.answer(response, "application/json", [&] { return state.newest_data(); });
  });
  server.Get("/events", [&state](const auto& request, auto& response) {
    state.stream(request.get_header_value("Last-Event-ID"), response);
  });
  state.newest_data();  // throws if a folder is not a run
  if (port == 0) {
    state.port = server.bind_to_any_port(address);
    require(state.port > 0, "--address: cannot listen on " + address);
    return;
  }
  state.port = port;
  if (server.bind_to_port(address, port)) return;
  const int next = next_free(address, port);
  throw UserError(next > 0 ? strf("--serve: port %d is in use; --serve %d is free", port, next)
                           : strf("--serve: cannot listen on %s:%d", address.c_str(), port));
}

ReportServer::~ReportServer() = default;

std::string ReportServer::url() const {
  const State& state = *state_;
  // 0.0.0.0 and :: stand for all interfaces. Browsers on other machines cannot open them.
  const bool all = state.address == "0.0.0.0" || state.address == "::";
  const std::string host = all ? host_name() : state.address;
  const bool v6 = host.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(state.port) + "/" +
         (state.token.empty() ? "" : "?token=" + state.token);
}

void ReportServer::run() {
  state_->server.listen_after_bind();
}

void ReportServer::stop() {
  state_->stopping = true;
}

}  // namespace shoal::app
