#include "train/control/watchdog.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/process/block_signals.h"
#include "train/control/stop.h"

namespace shoal::train {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kPoll(50);
constexpr const char* kBeforeTraining = "stopped before training began; nothing to save";

}  // namespace

// Shared with the threads. A thread that is stuck in a write to storage can outlive the Watchdog.
struct Watchdog::Shared {
  WatchdogOptions options;

  std::mutex mutex;
  std::condition_variable changed;
  bool dismissed = false;
  std::string loss;  // sentence that names a lost process; empty: none is lost
  // Whether the Rescuable is not yet created, exists, or is destroyed.
  enum class Stage { before, during, after } stage = Stage::before;
  Rescue rescue;
  bool rescuing = false;  // `rescue` is being called
  bool ended = false;     // end() was called

  bool wait_until(Clock::time_point time, bool for_loss);
  void run(const std::shared_ptr<Shared>& self);
  void save_and_end(Ending ending, Clock::time_point deadline);
  void end_without_saving(Ending ending);
  void end(const Ending& ending);
};

// Waits until `time` or, if `for_loss` is set, until a process is lost. Returns false as soon as
// the watchdog is destroyed.
bool Watchdog::Shared::wait_until(Clock::time_point time, bool for_loss) {
  std::unique_lock lock(mutex);
  changed.wait_until(lock, time, [&] { return dismissed || (for_loss && !loss.empty()); });
  return !dismissed;
}

void Watchdog::Shared::run(const std::shared_ptr<Shared>& self) {
  Ending ending;
  const auto has_reason = [&] {
    ending.signal = stop_signal();
    const std::lock_guard lock(mutex);
    ending.text = loss;
    return ending.signal != 0 || !loss.empty();
  };
  while (!has_reason())
    if (!wait_until(Clock::now() + kPoll, true)) return;
  const auto timeout =
      std::chrono::duration_cast<Milliseconds>(std::chrono::duration<double>(options.stop_timeout));
  const auto deadline = Clock::now() + timeout;
  if (!wait_until(deadline - timeout / 2, true)) return;
  has_reason();  // updates `ending`: a process may have been lost after the signal
  if (ending.signal == 0) ending.cause = Ending::Cause::lost_peer;
  if (options.leader)
    std::thread([self, ending, deadline] { self->save_and_end(ending, deadline); }).detach();
  else if (!ending.text.empty())
    return end_without_saving(ending);
  if (wait_until(deadline, /*for_loss=*/!options.leader)) end_without_saving(ending);
}

void Watchdog::Shared::save_and_end(Ending ending, Clock::time_point deadline) {
  {
    const std::lock_guard lock(mutex);
    if (dismissed) return;
    if (stage == Stage::before && ending.cause == Ending::Cause::stopped) {
      ending.text = kBeforeTraining;
      return end(ending);
    }
  }
  const auto limit = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
  if (!options.progress->freeze(limit)) return;  // run() ends the process at the deadline
  const std::string activity = text_of(options.progress->state());
  // The main thread is now frozen, so it cannot change the state while this thread saves it.
  {
    const std::lock_guard lock(mutex);
    if (dismissed || ended) return;
    rescuing = true;
  }
  if (ending.cause == Ending::Cause::stopped)
    ending.text = std::string("stopped by ") + stop_name(ending.signal) + " while " + activity;
  try {
    ending.text += ": " + (rescue ? rescue(ending) : std::string("nothing is left to save"));
  } catch (const std::exception& error) {
    ending.text += std::string("; the state is not saved: ") + error.what();
    if (ending.cause == Ending::Cause::stopped) ending.cause = Ending::Cause::not_saved;
  }
  const std::lock_guard lock(mutex);
  end(ending);
  rescuing = false;  // reached only if options.end_process() returns, as in tests
  changed.notify_all();
}

void Watchdog::Shared::end_without_saving(Ending ending) {
  const std::string activity = text_of(options.progress->state());
  const std::lock_guard lock(mutex);
  const bool unsaved = options.leader && stage == Stage::during;
  if (ending.cause == Ending::Cause::stopped) {
    if (stage == Stage::before)
      ending.text = kBeforeTraining + (" (" + activity + ")");
    else
      ending.text = std::string("stopped by ") + stop_name(ending.signal) +
                    (unsaved ? "" : " while " + activity);
    if (unsaved) ending.cause = Ending::Cause::not_saved;
  }
  if (unsaved)
    ending.text += ", but the state is not saved, because this process has been " + activity +
                   "; continue from the previous checkpoint with --resume";
  end(ending);
}

// The caller must hold `mutex`.
void Watchdog::Shared::end(const Ending& ending) {
  if (std::exchange(ended, true)) return;
  options.end_process(ending);
}

Watchdog::Watchdog(WatchdogOptions options) : shared_(std::make_shared<Shared>()) {
  shared_->options = std::move(options);
  const BlockSignals block;
  std::thread([shared = shared_] { shared->run(shared); }).detach();
}

Watchdog::~Watchdog() {
  const std::lock_guard lock(shared_->mutex);
  shared_->dismissed = true;
  shared_->changed.notify_all();
}

std::function<void(const std::string&)> Watchdog::loss_reporter() const {
  return [shared = shared_](const std::string& text) {
    const std::lock_guard lock(shared->mutex);
    shared->loss = text;
    shared->changed.notify_all();
  };
}

Watchdog::Rescuable::Rescuable(Watchdog* watchdog, Rescue rescue) : watchdog_(watchdog) {
  if (!watchdog_) return;
  const std::lock_guard lock(watchdog_->shared_->mutex);
  watchdog_->shared_->rescue = std::move(rescue);
  watchdog_->shared_->stage = Shared::Stage::during;
}

Watchdog::Rescuable::~Rescuable() {
  if (!watchdog_) return;
  std::unique_lock lock(watchdog_->shared_->mutex);
  // Waits for a running rescue, so that an exception does not destroy the state while it is saved.
  // The process ends after the rescue.
  watchdog_->shared_->changed.wait(lock, [this] { return !watchdog_->shared_->rescuing; });
  watchdog_->shared_->rescue = {};
  watchdog_->shared_->stage = Shared::Stage::after;
}

}  // namespace shoal::train
