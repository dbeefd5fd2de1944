#pragma once
// Makes training wait while a thread copies the state, and measures the wait. Thread-safe.

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/now.h"

namespace shoal::train {

// While a thread copies the state, training may compute the gradients of the next step, but must
// not change the state.
class Pause {
 public:
  // Begins a copy. `waited`: seconds that training has already waited for this checkpoint.
  void begin(double waited) {
    const std::lock_guard lock(mutex_);
    copying_ = true;
    waiting_since_.reset();
    seconds_ = waited;
  }

  // Ends the copy when it is destroyed.
  class End {
   public:
    explicit End(Pause& pause) : pause_(pause) {}
    ~End() {
      const std::lock_guard lock(pause_.mutex_);
      pause_.copying_ = false;
      if (pause_.waiting_since_) pause_.seconds_ += now() - *pause_.waiting_since_;
      pause_.waiting_since_.reset();
      pause_.copied_.notify_all();
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

   private:
    Pause& pause_;
  };

  // Waits until the state is copied.
  void wait() {
    std::unique_lock lock(mutex_);
    if (!copying_) return;
    waiting_since_ = now();
    copied_.wait(lock, [this] { return !copying_; });
  }

  bool waiting() const {  // whether wait() is waiting
    const std::lock_guard lock(mutex_);
    return waiting_since_.has_value();
  }
  // Returns how many seconds training has waited for this checkpoint. Call it after the copy.
  double seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable copied_;
  bool copying_ = false;
  std::optional<double> waiting_since_;  // time from now(), while wait() waits
  double seconds_ = 0;
};

}  // namespace shoal::train
