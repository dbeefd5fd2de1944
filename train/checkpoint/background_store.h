#pragma once
// Gives a run access to its CheckpointStore while a thread writes a checkpoint to it.
//
// At most one thread writes at a time, and every access to the store waits for it. Not thread-safe.

#include <cstdint>
#include <functional>
#include <future>

#include "dist/health/progress.h"
#include "train/checkpoint/checkpoint_store.h"

namespace shoal::train {

class BackgroundStore {
 public:
  // `progress`: gets Phase::saving while a call waits. Both must outlive this object.
  // `protected_before`: first argument of protect_before().
  BackgroundStore(CheckpointStore& store, dist::Progress& progress, int64_t protected_before = 0)
      : store_(store), progress_(progress), protected_before_(protected_before) {}
  ~BackgroundStore() { wait(); }
  BackgroundStore(const BackgroundStore&) = delete;
  BackgroundStore& operator=(const BackgroundStore&) = delete;

  // Wait until the thread has finished, and return the store.
  CheckpointStore& operator*();
  CheckpointStore* operator->() { return &**this; }

  // Like CheckpointStore::protect_before(), from the next access or start() on. Does not wait.
  void protect_before(int64_t step);

  // Waits for the previous thread, then calls `save` in a new one. If the system allows no more
  // threads, calls `save` in the caller's. Call finish() before the next start(), to get the error.
  void start(std::function<void(CheckpointStore&)> save);
  // Whether start() was called and finish() was not.
  bool started() const { return saving_.valid(); }
  // Whether finish() would return at once. False if !started().
  bool finished() const;
  // Waits for the thread. Rethrows what `save` threw.
  void finish();

 private:
  void wait();

  CheckpointStore& store_;
  dist::Progress& progress_;
  int64_t protected_before_;
  std::future<void> saving_;
};

}  // namespace shoal::train
