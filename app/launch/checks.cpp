#include "app/launch/checks.h"

#include "app/platform/failure.h"
#include "base/log.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal::app {

std::string to_line(const Check& check) {
  const char* word = check.verdict == Check::Verdict::ok     ? "ok    "
                     : check.verdict == Check::Verdict::warn ? "warn  "
                                                             : "bad   ";
  return word + check.name + ": " + check.value +
         (check.advice.empty() ? "" : " — " + check.advice);
}

int print_checks(const std::vector<std::function<std::vector<Check>()>>& groups) {
  int code = kOk;
  for (const auto& group : groups) {
    std::vector<Check> checks;
    try {
      checks = group();
    } catch (const std::exception& error) {
      checks = {{Check::Verdict::bad, "check failed", describe(error), ""}};
    }
    for (const Check& check : checks) {
      log::line(printable(masked(to_line(check))));
      if (check.verdict == Check::Verdict::bad) code = kFailure;
    }
  }
  return code;
}

}  // namespace shoal::app
