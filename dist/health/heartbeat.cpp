#include "dist/health/heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "dist/health/stall.h"
#include "dist/health/store.h"

namespace shoal::dist {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kLongest = std::chrono::seconds(5), kShortest(20);
constexpr int kMissed = 3;  // a rank is silent after this many missed heartbeats
constexpr Milliseconds kFarewell = std::chrono::seconds(1);

std::string pulse_key(int rank) {
  return "pulse/" + std::to_string(rank);
}

double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

}  // namespace

// Shared by the Heartbeat and its thread, because the thread outlives the Heartbeat if it is stuck
// in a network call.
struct Heartbeat::Shared {
  Env env;
  Milliseconds patience{};
  std::shared_ptr<const Progress> progress;
  Notify notify;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false, ended = false;

  Milliseconds interval() const { return std::clamp(patience / 8, kShortest, kLongest); }
  void run();
  bool wait();  // waits for one interval; returns false if the thread must stop
  void check_ranks(c10d::Store& store);

  // On rank 0: the last heartbeat of each rank and when it was first seen.
  struct Last {
    int64_t beat = -1;
    Clock::time_point at = Clock::now();
    Progress::State state;
  };
  std::vector<Last> last;
  double next_report = 0;  // seconds without progress
};

bool Heartbeat::Shared::wait() {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, interval(), [this] { return stop; });
}

void Heartbeat::Shared::run() {
  try {
    const auto store = open_connection(env, "heartbeat");
    for (int64_t beat = 0;; ++beat) {
      store->set(pulse_key(env.rank), encode_pulse(beat, progress->state()));
      if (env.rank == 0) check_ranks(*store);
      if (!wait()) break;
    }
  } catch (const std::exception&) {
    // The store's process has ended, so nobody reads the heartbeats any more.
  }
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

// Reads the other ranks' heartbeats, but only if this rank has made no progress for half of
// `patience`. Calls notify() when a report is due.
void Heartbeat::Shared::check_ranks(c10d::Store& store) {
  const double limit = std::chrono::duration<double>(patience).count();
  const Progress::State own = progress->state();
  if (own.seconds < limit / 2) {
    last.clear();
    next_report = limit;
    return;
  }
  last.resize(static_cast<size_t>(env.world_size));
  std::vector<Pulse> pulses(last.size());
  pulses[0].state = own;
  for (int rank = 1; rank < env.world_size; ++rank) {
    Last& known = last[static_cast<size_t>(rank)];
    if (store.check({pulse_key(rank)})) {
      const auto pulse = decode_pulse(store.get_to_str(pulse_key(rank)));
      if (pulse && pulse->first != known.beat) known = {pulse->first, Clock::now(), pulse->second};
    }
    Pulse& pulse = pulses[static_cast<size_t>(rank)];
    pulse.state = known.state;
    pulse.silent_seconds = seconds_since(known.at);
    pulse.alive =
        pulse.silent_seconds < kMissed * std::chrono::duration<double>(interval()).count();
  }
  if (own.seconds < next_report) return;
  notify(describe_stall(pulses, env, limit));
  next_report = 2 * own.seconds;
}

Heartbeat::Heartbeat(const Env& env, Milliseconds patience,
                     std::shared_ptr<const Progress> progress, const Notify& notify)
    : shared_(std::make_shared<Shared>()) {
  shared_->env = env;
  shared_->patience = patience;
  shared_->progress = std::move(progress);
  shared_->notify = notify;
  std::thread([shared = shared_] { shared->run(); }).detach();
}

Heartbeat::~Heartbeat() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kFarewell, [this] { return shared_->ended; });
}

}  // namespace shoal::dist
