#pragma once
// Connects all ranks to one store (the rendezvous). Private to dist/.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/env/env.h"
#include "dist/env/network.h"

namespace shoal::dist {

// Returns a store that all ranks of `env` have joined. Each attempt (Env::attempt) and each command
// (Env::command) has its own keys. If the launcher runs the store (env.agent_store), the store
// outlives a command, so this function sets env.command to the number of the command. Otherwise
// rank 0 runs the store, and its process must not end while other ranks use the store. `notify`
// receives messages during a long wait. If ranks do not join within `timeout`, or have different
// world sizes, throws std::runtime_error that names host:port, the ranks (and hosts), and what to
// check.
c10::intrusive_ptr<c10d::Store> rendezvous(Env& env, std::chrono::milliseconds timeout,
                                           const Notify& notify);

// Opens another connection to the rendezvous store. `name` is the prefix of its keys. Threads need
// their own connections, because a store client holds a lock while it waits. Throws TCPStore's
// errors.
c10::intrusive_ptr<c10d::Store> open_connection(const Env& env, const std::string& name);

}  // namespace shoal::dist
