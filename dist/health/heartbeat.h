#pragma once
// Signs of life of all ranks, on a store connection and a thread of their own, so that a rank that
// hangs in a collective still gives them. Rank 0 says who is late when nothing goes on.

#include <chrono>
#include <memory>

#include "dist/env/env.h"
#include "dist/env/network.h"
#include "dist/health/progress.h"

namespace shoal::dist {

class Heartbeat {
 public:
  // After the ranks have met (store.h). Rank 0 `tell`s, from the thread, when it makes no progress
  // for `patience`, and again each time that doubles. Without a connection there are no heartbeats.
  Heartbeat(const Env& env, std::chrono::milliseconds patience,
            std::shared_ptr<const Progress> progress, const Tell& tell);
  ~Heartbeat();  // waits a moment for the thread, not for the network
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace shoal::dist
