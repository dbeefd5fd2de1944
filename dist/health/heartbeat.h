#pragma once
// Heartbeats of all ranks, on their own store connection and thread, so that a rank that hangs in a
// collective still sends them. Rank 0 reports which ranks are late when there is no progress.

#include <chrono>
#include <memory>

#include "dist/env/env.h"
#include "dist/env/network.h"
#include "dist/health/progress.h"

namespace shoal::dist {

class Heartbeat {
 public:
  // Construct after the rendezvous (store.h). Rank 0 calls `notify` from the thread when it makes
  // no progress for `patience`, and again each time that wait doubles. If the connection fails,
  // there are no heartbeats.
  Heartbeat(const Env& env, std::chrono::milliseconds patience,
            std::shared_ptr<const Progress> progress, const Notify& notify);
  ~Heartbeat();  // waits briefly for the thread, not for the network
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace shoal::dist
