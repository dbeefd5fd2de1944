#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/file/descriptor.h"
#include "base/text.h"

namespace shoal::test {
namespace {

bool send_all(int connection, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        ::send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

// Reads up to the empty line that ends the headers.
std::string read_head(int connection) {
  std::string head;
  char byte = 0;
  while (!head.ends_with("\r\n\r\n") && ::recv(connection, &byte, 1, 0) == 1) head += byte;
  return head;
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  for (const std::string& line : split(head, '\n'))
    if (lower(line).starts_with(name + ": "))
      return line.substr(name.size() + 2, line.find('\r') - name.size() - 2);
  return "";
}

HttpServer::HttpServer(Answerer answer) : answer_(std::move(answer)) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(socket_, 16) == 0);
  REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_connections(); });
}

HttpServer::~HttpServer() {
  ::shutdown(socket_, SHUT_RDWR);  // ends accept()
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  ::close(socket_);
}

std::string HttpServer::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

void HttpServer::answer_with(Answerer answer) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
}

std::vector<HttpRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::accept_connections() {
  for (;;) {
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    connections_.emplace_back([this, connection] { serve(connection); });
  }
}

void HttpServer::serve(int number) {
  const Descriptor connection(number);
  HttpRequest request;
  request.head = read_head(number);
  const std::vector<std::string> words =
      split(request.head.substr(0, request.head.find('\r')), ' ');
  if (words.size() != 3) return;
  request.target = words[1];
  Answerer answerer;
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    answerer = answer_;
  }
  const HttpAnswer answer = answerer(request);
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + " Status\r\nConnection: close\r\n";
  for (const std::string& header : answer.headers) head += header + "\r\n";
  head += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
  if (!send_all(number, head + answer.body.substr(0, answer.cut))) return;
  char byte = 0;
  if (answer.stalls)
    while (::recv(number, &byte, 1, 0) == 1) {
    }
}

HttpAnswer file_answer(const HttpRequest& request, const std::string& content,
                       const std::string& etag) {
  HttpAnswer answer{200, {"ETag: " + etag}, content};
  const std::string range = request.header("range"), condition = request.header("if-range");
  if (range.empty() || (!condition.empty() && condition != etag)) return answer;
  const auto begin = static_cast<size_t>(std::atoll(range.c_str() + range.find('=') + 1));
  const std::string size = std::to_string(content.size());
  if (begin >= content.size()) return {416, {"Content-Range: bytes */" + size}};
  answer.status = 206;
  answer.headers.push_back("Content-Range: bytes " + std::to_string(begin) + "-" +
                           std::to_string(content.size() - 1) + "/" + size);
  answer.body = content.substr(begin);
  return answer;
}

}  // namespace shoal::test
