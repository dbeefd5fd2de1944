#pragma once
// Heartbeats of all ranks. A separate thread sends them over its own connection to the store, so a
// rank that hangs in a collective still sends them. When rank 0 makes no progress, it reports which
// ranks are late.

#include <chrono>
#include <memory>

#include "dist/env/env.h"
#include "dist/env/network.h"
#include "dist/health/progress.h"

namespace shoal::dist {

class Heartbeat {
 public:
  // Construct after the rendezvous (store.h). When rank 0 makes no progress for `patience`, it
  // calls `notify` from the heartbeat's thread, and again each time that the wait has doubled. If
  // the connection to the store fails, this rank sends no heartbeats.
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
