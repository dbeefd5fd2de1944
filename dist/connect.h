#pragma once
// Creates working process groups from an Env.
//
// connect() returns when every rank has joined and all groups are usable. A world of one opens no
// network connection. Failures throw std::runtime_error that names host:port, this rank, the
// missing ranks and what to check. The ranks exchange which device they compute on and choose the
// backend together: every rank throws the same error if choose_backend() throws or if ranks ask for
// different backends.

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
  // The unique name of the GPU that this rank computes on (backend.h). It must be device `device`
  // and the current device. Empty: this rank computes on the CPU.
  std::string gpu;
  int device = 0;
  const NcclFunctions* nccl = nullptr;  // from the CUDA plug-in, for NCCL; outlives the groups
  // Time for the master's name to resolve and for all ranks to join. Raise it if hosts start many
  // minutes apart.
  std::chrono::milliseconds rendezvous_timeout = std::chrono::seconds(900);
  // Timeout of one collective. Must exceed the longest pause of one rank (a checkpoint, the slowest
  // first batch).
  std::chrono::milliseconds timeout = std::chrono::seconds(1800);
  // Time without progress after which rank 0 reports which ranks are late (heartbeat.h). 0: never.
  std::chrono::milliseconds patience = std::chrono::seconds(60);
  // Receives a sentence during a long wait: which host or rank is missing. Called on the first rank
  // of each host from the connecting thread; later on rank 0 from any thread.
  Notify notify = [](const std::string&) {};
};

// The groups are separate so that independent parts of the program need not agree on one order of
// calls.
struct Communicator {
  Env env;
  Backend backend = Backend::automatic;  // between several ranks: gloo or nccl
  Group main;  // gradients, parameters, metrics. CPU tensors over Gloo; with NCCL also CUDA tensors
  Group control;     // Gloo: control messages (control_message.h), barriers
  Group batch_norm;  // sums of synchronized batch norm, during forward and backward
  std::shared_ptr<Heartbeat> heartbeat;  // null in a world of one

  int rank() const { return env.rank; }
  int size() const { return env.world_size; }

  // Call once on every rank at the end of a successful run. Waits for the other ranks, so that rank
  // 0's store outlives their use of it, and closes NCCL. Do not call it after an error: exit the
  // process instead.
  void shutdown();
};

Communicator connect(const Env& env, const ConnectOptions& options = {});

}  // namespace shoal::dist
