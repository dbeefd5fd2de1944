#include "dist/transport_error.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

namespace shoal::dist {

namespace {

// NCCL's text ends with "Last error:" and a line with the reason. Returns this line, or nothing.
std::string nccl_reason(const std::string& text) {
  constexpr std::string_view kLast = "Last error:\n";
  const size_t last = text.find(kLast);
  if (last == std::string::npos) return "";
  const std::string reason = text.substr(last + kLast.size());
  return reason.substr(0, reason.find('\n'));
}

}  // namespace

std::string transport_message(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  const std::string reason = nccl_reason(text);
  text.erase(std::min({text.find('\n'), text.find(", keys:"), text.size()}));
  if (text.starts_with('['))
    if (const size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
  if (text.ends_with('.')) text.pop_back();
  return reason.empty() ? text : text + ": " + reason;
}

std::string message_beyond_timeout(const std::exception& error) {
  std::string text = transport_message(error);
  // Keeps only REASON of "TCP client failed to … - timed out (try=2, timeout=3000ms): REASON".
  if (text.find(" timed out (try=") != std::string::npos)
    if (const size_t end = text.find("): "); end != std::string::npos) text.erase(0, end + 3);
  for (const char* timeout : {"timed out", "wait timeout", "Wait timeout", "Socket Timeout"})
    if (text.find(timeout) != std::string::npos) return "";
  return text;
}

}  // namespace shoal::dist
