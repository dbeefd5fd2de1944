#pragma once
// The current activity of this process. Heartbeats report it to rank 0 (heartbeat.h). Does not use
// LibTorch.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/now.h"

namespace shoal::dist {

// updating: the optimizer is changing the weights or has changed them; lasts until the next phase.
enum class Phase { starting, reading, stepping, updating, evaluating, saving, waiting };

// Returns a description such as "reading images".
std::string text_of(Phase phase);

// Thread-safe. A change of phase takes about 50 ns.
class Progress {
 public:
  struct State {
    Phase phase = Phase::starting;
    // In Phase::waiting: the operation that the process waits for. In Phase::reading: the image
    // that takes longest, if known.
    std::string operation;
    double seconds = 0;  // since the phase began
  };
  State state() const;
  void enter(Phase phase, const std::string& operation = {});

  // `name` returns the image that takes longest to read. In Phase::reading, state() calls `name`,
  // from any thread, until name_reads() is called again. An empty `name` removes the previous one.
  void name_reads(std::function<std::string()> name);

  // Waits until the main thread (which enters phases) is reading, stepping or waiting, and keeps it
  // in that phase: its next enter() never returns. In these phases, the main thread changes nothing
  // that a checkpoint contains. If this returns true, the calling thread may use the state of the
  // run and enter phases itself. Returns false if the main thread was in other phases for all of
  // `limit`. In both cases the process must end.
  bool freeze(std::chrono::milliseconds limit);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  std::string operation_;
  double since_ = now();
  std::function<std::string()> name_;
  std::thread::id freezer_;  // the thread that has called freeze()
  bool frozen_ = false;      // freeze() has returned true; freezer_ may change phase_
};

// Enters a phase. The destructor restores the previous one. `progress` may be null.
class PhaseScope {
 public:
  PhaseScope(Progress* progress, Phase phase, const std::string& operation = {});
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Progress* progress_;
  Progress::State before_;
};

// Returns a description such as "reading images for 61 s (/data/a.jpg)".
std::string text_of(const Progress::State& state);

}  // namespace shoal::dist
