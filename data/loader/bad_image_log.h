#pragma once
// Remembers damaged images so that each is named once.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

namespace shoal::data {

// Shared by the workers of a loader, for its whole life.
class BadImageLog {
 public:
  explicit BadImageLog(std::function<void(const std::string&)> on_bad)
      : on_bad_(std::move(on_bad)) {}

  // Calls on_bad with `sentence` the first time it hears of `sample`; one call at a time.
  void report(int64_t sample, const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (named_.insert(sample).second && on_bad_) on_bad_(sentence);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<int64_t> named_;
  std::function<void(const std::string&)> on_bad_;
};

}  // namespace shoal::data
