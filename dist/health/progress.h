#pragma once
// The current activity of this process. Heartbeats report it to rank 0 (heartbeat.h). No torch.

#include <chrono>
#include <mutex>
#include <string>

namespace shoal::dist {

enum class Phase { starting, reading, stepping, evaluating, saving, waiting };

// Returns a description such as "reading images".
std::string text_of(Phase phase);

// Thread-safe; a change costs about 50 ns.
class Progress {
 public:
  struct State {
    Phase phase = Phase::starting;
    std::string operation;  // in Phase::waiting: the operation that the process waits for
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

// Sets Phase::waiting while a collective is running. The destructor restores the previous phase.
// `progress` may be null.
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
