#include "train/report/utc_time.h"

#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/text.h"

namespace shoal::train {

double wall_time() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

std::string utc_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return strf("%s.%03dZ", text, static_cast<int>(ms % 1000));
}

std::optional<double> parse_utc_time(const std::string& text) {
  std::tm parts{};
  double seconds = 0;
  int length = 0;  // set by %n, only if the text has all parts up to the Z
  std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lfZ%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
              &parts.tm_hour, &parts.tm_min, &seconds, &length);
  if (length == 0 || static_cast<size_t>(length) != text.size()) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(::timegm(&parts)) + seconds;
}

}  // namespace shoal::train
