#pragma once
// Heartbeats of all ranks. Each rank sends them from a separate thread over its own connection to
// the store, so a rank that hangs in a collective still sends them. When rank 0 makes no progress,
// it reports which ranks are late. A rank or host that has disappeared is reported as lost. In a
// world of one, only missing progress is reported.

#include <chrono>
#include <memory>

#include "dist/env/env.h"
#include "dist/env/network.h"
#include "dist/health/progress.h"

namespace shoal::dist {

struct HeartbeatOptions {
  // When rank 0 makes no progress for `patience`, it calls `notify`, and again each time that the
  // wait has doubled. 0: never.
  std::chrono::milliseconds patience = std::chrono::seconds(60);
  // Rank 0 calls `lost` within this time if it makes no progress and another rank sends no
  // heartbeat. A rank whose process does not serve the store calls `lost` if the store has not
  // answered for this time or has closed the connection. 0: never.
  std::chrono::milliseconds lost_after = std::chrono::seconds(120);
  // Called from the heartbeat's threads, with one sentence; `lost` at most once.
  Notify notify = [](const std::string&) {};
  Notify lost = [](const std::string&) {};
};

class Heartbeat {
 public:
  // Construct after the rendezvous (store.h).
  Heartbeat(const Env& env, const HeartbeatOptions& options,
            std::shared_ptr<const Progress> progress);
  ~Heartbeat();  // waits at most 1 s for the thread that sends heartbeats
  // Stops calls to `lost`. Call before other ranks may exit and close the store.
  void expect_end();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace shoal::dist
