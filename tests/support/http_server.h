#pragma once
// An HTTP server on 127.0.0.1, for tests of downloads.

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace shoal::test {

struct HttpRequest {
  std::string target;  // "/model.pth", or a whole URL if the client uses the server as its proxy
  std::string head;    // request line and headers
  // Returns the value of a header, "" if it is missing. `name`: lower case.
  std::string header(const std::string& name) const;
};

struct HttpAnswer {
  int status = 200;
  std::vector<std::string> headers = {};  // such as "ETag: \"a\""; Content-Length is added
  std::string body = {};
  size_t cut = std::string::npos;  // closes the connection after this many bytes of the body
  bool stalls = false;             // keeps the connection open until the client closes it
};

using Answerer = std::function<HttpAnswer(const HttpRequest&)>;

// Calls the Answerer in a separate thread for each connection, so it must be thread-safe. The
// destructor waits for open connections.
class HttpServer {
 public:
  explicit HttpServer(Answerer answer);
  ~HttpServer();

  void answer_with(Answerer answer);  // thread-safe; takes effect from the next request on

  std::string url(const std::string& path = "") const;  // "http://127.0.0.1:PORT" + path
  int port() const { return port_; }
  std::vector<HttpRequest> requests() const;  // thread-safe; all requests so far

 private:
  void accept_connections();
  void serve(int connection);

  int socket_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  Answerer answer_;
  std::vector<HttpRequest> requests_;
  std::list<std::thread> connections_;
  std::thread acceptor_;
};

// Returns the answer of a server that has the file `content` with this ETag, and supports ranges:
// it honors Range, unless If-Range has another ETag.
HttpAnswer file_answer(const HttpRequest& request, const std::string& content,
                       const std::string& etag);

}  // namespace shoal::test
