#pragma once
// The meeting of all ranks at one store. For the files of this folder.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/env/env.h"
#include "dist/env/network.h"

namespace shoal::dist {

// Returns a store that all ranks of env have joined, private to this attempt. Rank 0 serves it
// unless env.agent_store; its process must outlive the others' use. `tell` gets what a long wait is
// for. Throws std::runtime_error naming host:port, the ranks (and hosts) that are missing at the
// timeout, and what to check.
c10::intrusive_ptr<c10d::Store> meet(const Env& env, std::chrono::milliseconds timeout,
                                     const Tell& tell);

// A further connection to the store at which all ranks have met, with names of its own: a client
// holds a lock while it waits. Throws what TCPStore throws.
c10::intrusive_ptr<c10d::Store> another_connection(const Env& env, const std::string& name);

}  // namespace shoal::dist
