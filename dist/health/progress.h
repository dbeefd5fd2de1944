#pragma once
// The current activity of this process, for ranks that wait for it (heartbeat.h). No torch.

#include <chrono>
#include <mutex>
#include <string>

namespace shoal::dist {

enum class Phase { starting, reading, stepping, evaluating, saving, waiting };

// "reading images"
std::string text_of(Phase phase);

// Thread-safe; a change costs about 50 ns.
class Progress {
 public:
  struct State {
    Phase phase = Phase::starting;
    std::string operation;  // the operation being waited for, while waiting
    double seconds = 0;     // since the phase began
  };
  State state() const;
  void enter(Phase phase, const std::string& operation = {});

 private:
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  Phase phase_ = Phase::starting;
  std::string operation_;
  Clock::time_point since_ = Clock::now();
};

// Marks a wait for a collective. Its destructor restores the previous phase. `progress` may be
// null.
class Waiting {
 public:
  Waiting(Progress* progress, const std::string& operation);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Progress* progress_;
  Progress::State before_;
};

}  // namespace shoal::dist
