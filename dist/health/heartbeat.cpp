#include "dist/health/heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "base/now.h"
#include "dist/health/stall.h"
#include "dist/health/store.h"

namespace shoal::dist {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kLongest = std::chrono::seconds(5), kShortest(20);
constexpr int kShares = 8;  // heartbeats within patience or lost_after, whichever is shorter
constexpr int kMissed = 3;  // a rank is silent after this many missed heartbeats
constexpr Milliseconds kFarewell = std::chrono::seconds(1);  // maximum wait of the destructor
// After a lost connection, the main thread gets this time to end the process with its own error.
constexpr Milliseconds kMainThreadTime = std::chrono::seconds(3);

std::string heartbeat_key(int rank) {
  return "heartbeat/" + std::to_string(rank);
}

double in_seconds(Milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

// Shared by the Heartbeat and its threads. A thread that is stuck in a network call outlives the
// Heartbeat.
struct Heartbeat::Shared {
  Env env;
  HeartbeatOptions options;
  std::shared_ptr<const Progress> progress;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false, ended = false, end_expected = false;
  int64_t answers = 0;  // number of answers from the store

  bool alone() const { return env.world_size == 1; }
  // Whether the store is in another process. If that process is lost, this rank must notice.
  bool store_is_remote() const { return !alone() && (env.rank != 0 || env.agent_store); }
  Milliseconds interval() const;
  void run();
  void watch_store();
  bool wait();  // waits for one interval; returns false if the thread must stop
  void exchange(c10d::Store& store, int64_t number);
  void check_ranks(c10d::Store* store);
  void report_loss(const std::string& sentence);
  std::string server() const;

  // On rank 0: the last heartbeat of each rank and when it was first seen.
  struct Last {
    int64_t number = -1;
    double at = now();
    Progress::State state;
  };
  std::vector<Last> last;
  double last_check = now();  // when check_ranks() was called last
  std::vector<HeartbeatState> read_heartbeats(c10d::Store* store, const Progress::State& own);
  double next_report = 0;  // seconds without progress before the next notify()
};

Milliseconds Heartbeat::Shared::interval() const {
  Milliseconds shortest = kShares * kLongest;
  for (const Milliseconds time : {options.patience, options.lost_after})
    if (time.count() > 0) shortest = std::min(shortest, time);
  return std::max(shortest / kShares, kShortest);
}

bool Heartbeat::Shared::wait() {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, interval(), [this] { return stop; });
}

void Heartbeat::Shared::run() {
  try {
    const auto store = alone() ? nullptr : open_connection(env, "heartbeat");
    for (int64_t number = 0;; ++number) {
      if (store) exchange(*store, number);
      if (env.rank == 0) check_ranks(store.get());
      if (!wait()) break;
    }
  } catch (const std::exception&) {
    // The connection to the store failed, usually because the store's process has ended. The main
    // thread then fails too, with a clearer error. Gives it time to end the process first.
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kMainThreadTime, [this] { return stop; });
    lock.unlock();
    if (store_is_remote()) report_loss("the connection to " + server() + " is closed");
  }
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

// Sends a heartbeat and waits for an answer from the store.
void Heartbeat::Shared::exchange(c10d::Store& store, int64_t number) {
  store.set(heartbeat_key(env.rank), encode_heartbeat(number, progress->state()));
  store.check({heartbeat_key(env.rank)});
  const std::lock_guard lock(mutex);
  ++answers;
}

// Reports the loss of the store if it does not answer for options.lost_after. Counts intervals
// instead of comparing times, so that the time while this process is suspended does not count.
void Heartbeat::Shared::watch_store() {
  int64_t seen = -1;
  for (Milliseconds silent{0}; wait(); silent += interval()) {
    {
      const std::lock_guard lock(mutex);
      if (answers != seen) silent = Milliseconds(0);
      seen = answers;
    }
    if (silent + interval() < options.lost_after) continue;
    return report_loss(server() + " has not answered for " +
                       std::to_string(options.lost_after.count() / 1000) + " s");
  }
}

// Returns "rank 0 (algo-1)", or "the launcher's store at HOST:PORT".
std::string Heartbeat::Shared::server() const {
  if (!env.agent_store) return "rank " + rank_with_host(0, env);
  return "the launcher's store at " + env.master_addr + ":" + std::to_string(env.master_port);
}

void Heartbeat::Shared::report_loss(const std::string& sentence) {
  {
    const std::lock_guard lock(mutex);
    if (stop || end_expected || options.lost_after.count() == 0) return;
    end_expected = true;  // so that lost() is called only once
  }
  options.lost(sentence);
}

// Reads the other ranks' heartbeats.
std::vector<HeartbeatState> Heartbeat::Shared::read_heartbeats(c10d::Store* store,
                                                               const Progress::State& own) {
  last.resize(static_cast<size_t>(env.world_size));
  std::vector<HeartbeatState> heartbeats(last.size());
  heartbeats[0].state = own;
  for (int rank = 1; rank < env.world_size; ++rank) {
    Last& known = last[static_cast<size_t>(rank)];
    if (store->check({heartbeat_key(rank)})) {
      const auto heartbeat = decode_heartbeat(store->get_to_str(heartbeat_key(rank)));
      if (heartbeat && heartbeat->first != known.number)
        known = {heartbeat->first, now(), heartbeat->second};
    }
    HeartbeatState& heartbeat = heartbeats[static_cast<size_t>(rank)];
    heartbeat.state = known.state;
    heartbeat.silent_seconds = now() - known.at;
    heartbeat.alive = heartbeat.silent_seconds < kMissed * in_seconds(interval());
  }
  return heartbeats;
}

// Runs on rank 0. Calls notify() when a report is due, and lost() for a silent rank. Reads the
// heartbeats only once rank 0 has made no progress for some time, and measures silence from then
// on. Calls lost() after a measured silence of half of `lost_after`, to stay within `lost_after`.
void Heartbeat::Shared::check_ranks(c10d::Store* store) {
  const double patience = in_seconds(options.patience), lost_after = in_seconds(options.lost_after);
  // After a long pause, this process and the other ranks were probably suspended. Silence is then
  // measured from now on.
  if (now() - std::exchange(last_check, now()) > kMissed * in_seconds(interval())) last.clear();
  const Progress::State own = progress->state();
  const bool stalled = patience > 0 && own.seconds >= patience / 2;
  if (!stalled && (alone() || lost_after == 0 || own.seconds < lost_after / 4)) {
    last.clear();
    next_report = patience;
    return;
  }
  const std::vector<HeartbeatState> heartbeats = read_heartbeats(store, own);
  if (const std::string lost = describe_loss(heartbeats, env, lost_after / 2);
      lost_after > 0 && !lost.empty())
    report_loss(lost);
  if (patience == 0 || own.seconds < next_report) return;
  options.notify(describe_stall(heartbeats, env, patience));
  next_report = 2 * own.seconds;
}

Heartbeat::Heartbeat(const Env& env, const HeartbeatOptions& options,
                     std::shared_ptr<const Progress> progress)
    : shared_(std::make_shared<Shared>()) {
  shared_->env = env;
  shared_->options = options;
  shared_->progress = std::move(progress);
  std::thread([shared = shared_] { shared->run(); }).detach();
  if (shared_->store_is_remote() && options.lost_after.count() > 0)
    std::thread([shared = shared_] { shared->watch_store(); }).detach();
}

void Heartbeat::expect_end() {
  const std::lock_guard lock(shared_->mutex);
  shared_->end_expected = true;
}

Heartbeat::~Heartbeat() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kFarewell, [this] { return shared_->ended; });
}

}  // namespace shoal::dist
