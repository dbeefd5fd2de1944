#pragma once
// Ends a process whose main thread does not react to a stop signal, because the thread waits for
// storage or for another process. Also ends the process if another process of the run is lost.
//
// Rank 0 is the leader. After half of `stop_timeout`, or at once if a process is lost, a thread of
// the leader freezes the main thread (dist::Progress::freeze()), saves the training state and ends
// the process. The other ranks have nothing to save: they end at once if a process is lost,
// otherwise after `stop_timeout`. After the whole `stop_timeout`, the leader ends in any case.

#include <functional>
#include <memory>
#include <string>

#include "dist/health/progress.h"

namespace shoal::train {

struct Ending {
  enum class Cause {
    stopped,    // by a signal; the state is saved, or there was nothing to save
    not_saved,  // by a signal; the state could not be saved
    lost_peer,  // another process was lost; rank 0's `text` states whether the state is saved
  };
  Cause cause = Cause::stopped;
  int signal = 0;    // SIGINT or SIGTERM, if it stopped the run; 0: none
  std::string text;  // one sentence
};

struct WatchdogOptions {
  double stop_timeout = 60;  // most seconds from a stop signal or a lost peer to the process's end
  bool leader = true;
  std::shared_ptr<dist::Progress> progress;  // of the main thread
  // Reports the ending and ends the process without running destructors. Called from a thread of
  // the watchdog, at most once.
  std::function<void(const Ending& ending)> end_process;
};

class Watchdog {
 public:
  // Saves the state while the main thread is frozen. Called from a thread of the watchdog. Returns
  // a sentence about what was saved. Throws std::exception if saving fails. `ending` contains the
  // signal and the text.
  using Rescue = std::function<std::string(const Ending& ending)>;

  // Starts a thread, which polls stop_signal().
  explicit Watchdog(WatchdogOptions options);
  ~Watchdog();  // stops the thread; blocks while a thread of the watchdog ends the process
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Returns a function to call when another process is lost; the watchdog then ends this process.
  // The function's argument is a sentence that names the lost process. Any thread may call the
  // function; it has no effect after the watchdog is destroyed.
  std::function<void(const std::string& text)> loss_reporter() const;

  // While an object of this class exists, the watchdog can save the leader's state with `rescue`.
  // `watchdog` may be null.
  class Rescuable {
   public:
    Rescuable(Watchdog* watchdog, Rescue rescue);
    ~Rescuable();
    Rescuable(const Rescuable&) = delete;
    Rescuable& operator=(const Rescuable&) = delete;

   private:
    Watchdog* watchdog_;
  };

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace shoal::train
