#pragma once
// How long training waits for a checkpoint. Thread-safe.

#include <condition_variable>
#include <mutex>

#include "base/now.h"

namespace shoal::train {

// While a thread copies the state, training may compute the gradients of the next step, but must
// not change the state.
class Pause {
 public:
  // The copy begins. `waited`: seconds that training has already waited for this checkpoint.
  void begin(double waited) {
    const std::lock_guard lock(mutex_);
    copying_ = true;
    seconds_ = waited;
  }

  // Ends the copy when it is destroyed.
  class End {
   public:
    explicit End(Pause& pause) : pause_(pause) {}
    ~End() {
      const std::lock_guard lock(pause_.mutex_);
      pause_.copying_ = false;
      pause_.copied_.notify_all();
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

   private:
    Pause& pause_;
  };

  // Waits until the state is copied.
  void wait() {
    const double begin = now();
    std::unique_lock lock(mutex_);
    if (!copying_) return;
    copied_.wait(lock, [this] { return !copying_; });
    seconds_ += now() - begin;
  }

  double seconds() const {  // that training has waited for this checkpoint
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable copied_;
  bool copying_ = false;
  double seconds_ = 0;
};

}  // namespace shoal::train
