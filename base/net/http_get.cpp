#include "base/net/http_get.h"

#include <curl/curl.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "base/text.h"

namespace shoal {
namespace {

// A request and its response so far.
struct Exchange {
  const HttpGet& request;
  HttpResponse response = {};
};

size_t take_header(char* bytes, size_t, size_t size, void* exchange) {
  static_cast<Exchange*>(exchange)->response.read_line({bytes, size});
  return size;
}

size_t take_body(char* bytes, size_t, size_t size, void* exchange) {
  const auto& [request, response] = *static_cast<Exchange*>(exchange);
  const bool is_file = response.status == 200 || response.status == 206;
  return is_file && request.take(response, bytes, size) ? size : 0;
}

int check(void* exchange, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Exchange*>(exchange)->request.keep_going() ? 0 : 1;
}

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  if (curl_easy_setopt(curl, option, value) != CURLE_OK)
    throw std::runtime_error("this libcurl lacks an option that downloads need");
}

void set_protocols(CURL* curl, const HttpGet& request) {
  const bool secure = lower(request.url).starts_with("https:");
#if LIBCURL_VERSION_NUM >= 0x075500
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
  set(curl, CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
  set(curl, CURLOPT_REDIR_PROTOCOLS, long{CURLPROTO_HTTPS | (secure ? 0 : CURLPROTO_HTTP)});
#endif
}

void set_options(CURL* curl, Exchange& exchange) {
  const HttpGet& request = exchange.request;
  set_protocols(curl, request);
  set(curl, CURLOPT_URL, request.url.c_str());
  set(curl, CURLOPT_FOLLOWLOCATION, 1L);
  set(curl, CURLOPT_MAXREDIRS, 10L);
  set(curl, CURLOPT_FAILONERROR, 1L);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(curl, CURLOPT_USERAGENT, "shoal");
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, std::lround(1e3 * request.connect_seconds));
  if (!request.certificates.empty()) set(curl, CURLOPT_CAINFO, request.certificates.c_str());
  if (!request.token.empty()) {
    set(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    set(curl, CURLOPT_XOAUTH2_BEARER, request.token.c_str());
  }
  set(curl, CURLOPT_HEADERFUNCTION, &take_header);
  set(curl, CURLOPT_HEADERDATA, &exchange);
  set(curl, CURLOPT_WRITEFUNCTION, &take_body);
  set(curl, CURLOPT_WRITEDATA, &exchange);
  set(curl, CURLOPT_NOPROGRESS, 0L);
  set(curl, CURLOPT_XFERINFOFUNCTION, &check);
  set(curl, CURLOPT_XFERINFODATA, &exchange);
}

HttpResult::End end_of(CURLcode code) {
  using End = HttpResult::End;
  if (code == CURLE_OK) return End::complete;
  if (code == CURLE_HTTP_RETURNED_ERROR) return End::refused;
  const bool forbidden = code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_TOO_MANY_REDIRECTS;
  return forbidden ? End::forbidden : End::broken;
}

}  // namespace

HttpResult http_get(const HttpGet& request) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (ready != CURLE_OK || !curl) throw std::runtime_error("libcurl cannot be initialized");
  Exchange exchange{request};
  set_options(curl.get(), exchange);
  char reason[CURL_ERROR_SIZE] = "";
  set(curl.get(), CURLOPT_ERRORBUFFER, +reason);
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, curl_slist_free_all);
  if (request.offset > 0) {
    set(curl.get(), CURLOPT_RANGE, (std::to_string(request.offset) + "-").c_str());
    headers.reset(curl_slist_append(nullptr, ("If-Range: " + request.if_range).c_str()));
    set(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  }
  const CURLcode code = curl_easy_perform(curl.get());
  return {end_of(code), exchange.response, *reason ? reason : curl_easy_strerror(code)};
}

}  // namespace shoal
