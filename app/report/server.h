#pragma once
// Serves a report of runs to browsers, and updates it while the runs train. Only server.cpp
// includes cpp-httplib.

#include <memory>
#include <string>
#include <vector>

namespace shoal::app {

// GET / returns the page and /data the result of report_data(). /events is a stream of server-sent
// events, one whenever the data changes. On a loopback address, answers only requests whose Host
// header is localhost or a loopback address, which prevents DNS rebinding. On another address,
// answers only requests with ?token=TOKEN.
class ReportServer {
 public:
  // Listens at once, on a free port if `port` is 0. Throws UserError if a run's folder has no
  // history, if `address` is not an IP address of this machine, or if the port is in use. In the
  // last case, the message names the next free port.
  ReportServer(std::vector<std::string> runs, const std::string& address, int port);
  ~ReportServer();

  std::string url() const;  // with the token, if one is needed

  // Answers requests until stop(), which any thread may call.
  void run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shoal::app
