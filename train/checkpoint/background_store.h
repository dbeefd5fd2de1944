#pragma once
// Gives a run access to its CheckpointStore while a thread writes a checkpoint to it.
//
// At most one thread writes at a time. Every access to the store waits for it. The functions must
// not be called by several threads at once.

#include <functional>
#include <future>

#include "dist/health/progress.h"
#include "train/checkpoint/checkpoint_store.h"

namespace shoal::train {

class BackgroundStore {
 public:
  // `progress`: gets Phase::saving while a call waits. Both must outlive this object.
  BackgroundStore(CheckpointStore& store, dist::Progress& progress)
      : store_(store), progress_(progress) {}
  ~BackgroundStore() { wait(); }
  BackgroundStore(const BackgroundStore&) = delete;
  BackgroundStore& operator=(const BackgroundStore&) = delete;

  // Return the store, which no thread is using.
  CheckpointStore& operator*() {
    wait();
    return store_;
  }
  CheckpointStore* operator->() { return &**this; }

  // Waits for the previous thread, then calls `save` in a new one. If the system allows no more
  // threads, calls `save` in this one. Call finish() before the next start(): it has the result.
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
  std::future<void> saving_;
};

}  // namespace shoal::train
