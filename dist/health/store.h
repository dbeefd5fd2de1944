#pragma once
// The rendezvous of all ranks at one store. For the files of this folder.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/env/env.h"
#include "dist/env/network.h"

namespace shoal::dist {

// Returns a store that all ranks of env have joined, private to this attempt. Rank 0 serves it
// unless env.agent_store; its process must outlive the others' use. `notify` receives messages
// during a long wait. Throws std::runtime_error that names host:port, the ranks (and hosts) missing
// at the timeout, and what to check.
c10::intrusive_ptr<c10d::Store> rendezvous(const Env& env, std::chrono::milliseconds timeout,
                                           const Notify& notify);

// Opens another connection to the rendezvous store, with its own key prefix: a client holds a lock
// while it waits. Throws what TCPStore throws.
c10::intrusive_ptr<c10d::Store> open_connection(const Env& env, const std::string& name);

}  // namespace shoal::dist
