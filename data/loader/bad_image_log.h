#pragma once
// Reports each damaged image once.

#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

namespace shoal::data {

// Shared by the workers of a loader. Thread-safe.
class BadImageLog {
 public:
  explicit BadImageLog(std::function<void(const std::string&)> on_bad)
      : on_bad_(std::move(on_bad)) {}

  // Calls on_bad with "NAME: REASON" if `name` is reported for the first time; one call at a time.
  void report(const std::string& name, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (reported_.insert(name).second && on_bad_) on_bad_(name + ": " + reason);
  }

  // Never calls on_bad again. Waits for a call in progress.
  void stop() {
    const std::lock_guard lock(mutex_);
    on_bad_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> reported_;
  std::function<void(const std::string&)> on_bad_;
};

}  // namespace shoal::data
