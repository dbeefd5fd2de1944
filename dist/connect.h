#pragma once
// From an Env to working groups of ranks.
//
// connect() returns when every rank has arrived, and all groups are usable. A world of one needs no
// network and opens none. Failures throw std::runtime_error naming host:port, this rank, which
// ranks are missing, and what to check. The ranks tell each other what they compute on, and choose
// the backend together: what choose_backend throws, and that they were asked for different
// ones, every rank throws.

#include <chrono>

#include "dist/env/backend.h"
#include "dist/env/env.h"
#include "dist/env/network.h"
#include "dist/group.h"
#include "dist/health/heartbeat.h"
#include "dist/nccl.h"

namespace shoal::dist {

struct ConnectOptions {
  Backend backend = Backend::automatic;
  // The name of the GPU that this rank computes on (backend.h), which is device `device` and already
  // the current one; empty: it computes on the CPU.
  std::string gpu;
  int device = 0;
  const NcclFunctions* nccl = nullptr;  // of the CUDA plug-in; needed for NCCL, outlives the groups
  // For the master's name to resolve and for all ranks to arrive; more where hosts start many
  // minutes apart.
  std::chrono::milliseconds rendezvous_timeout = std::chrono::seconds(900);
  // Of one collective: above the longest pause of one rank (a checkpoint, the slowest first batch).
  std::chrono::milliseconds timeout = std::chrono::seconds(1800);
  // Standstill after which rank 0 says who keeps the others waiting (heartbeat.h); 0: never.
  std::chrono::milliseconds patience = std::chrono::seconds(60);
  // Gets a sentence when a wait is long: which host or rank is missing. On the first rank of each
  // host, from the connecting thread; later on rank 0, from any thread.
  Tell tell = [](const std::string&) {};
};

// The groups are separate so that calls made at different moments by different parts never have to
// be in one order.
struct Communicator {
  Env env;
  Backend backend = Backend::automatic;  // between several ranks: gloo or nccl
  Group main;  // gradients, parameters, metrics. CPU tensors over Gloo; with NCCL also CUDA tensors
  Group control;     // Gloo: the control word (control_word.h), barriers
  Group batch_norm;  // sums of synchronised batch norm, made in the middle of forward and backward
  std::shared_ptr<Heartbeat> heartbeat;  // null in a world of one

  int rank() const { return env.rank; }
  int size() const { return env.world_size; }

  // Call once at the end of a run that went well, on every rank: waits for the others, so that rank
  // 0's store outlives their use of it, and closes NCCL in order. After an error do not call it:
  // leave the process.
  void shutdown();
};

Communicator connect(const Env& env, const ConnectOptions& options = {});

}  // namespace shoal::dist
