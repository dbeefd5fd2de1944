#pragma once
// Connects the ranks of a run and creates their process groups.
//
// connect() returns when every rank has joined and all groups are usable. A world of one opens no
// network connection. Failures throw std::runtime_error that names host:port, this rank, the
// missing ranks and what to check; a wrong Env::interface throws what gloo_address() throws. The
// ranks exchange their options and devices, and then choose the backend. If choose_backend()
// throws, or if ranks ask for different backends, every rank throws the same error.

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
  // Name of this rank's physical GPU (card), unique across all hosts. MIG instances of one card
  // have the same name, because NCCL supports one rank per card. Empty: this rank computes on the
  // CPU. `device` is the GPU's CUDA index; it must be the current CUDA device.
  std::string gpu;
  int device = 0;
  const NcclFunctions* nccl = nullptr;  // from the CUDA plug-in, not owned; required for NCCL
  // Time for the master's name to resolve and for all ranks to join. Increase it if hosts start
  // many minutes apart.
  std::chrono::milliseconds rendezvous_timeout = std::chrono::seconds(900);
  // Timeout of one collective. Must exceed the longest pause of one rank (a checkpoint, the slowest
  // first batch).
  std::chrono::milliseconds timeout = std::chrono::seconds(1800);
  // Limits and callbacks of the heartbeats. On the first rank of each host, connect() itself also
  // calls heartbeat.notify during long waits, and if MASTER_ADDR looks wrong.
  HeartbeatOptions heartbeat;
  // The current phase of this process. The groups set it, and the heartbeats report it.
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();
};

class Opener;

// The process groups of a run. There are several, so that independent parts of the program need not
// agree on a common order of collectives.
struct Communicator {
  Env env;
  Backend backend = Backend::automatic;  // gloo or nccl; automatic only in a world of one
  Group main;        // gradients, parameters, metrics: Gloo, and NCCL for CUDA tensors if chosen
  Group control;     // Gloo: control messages (control_message.h), barriers
  Group batch_norm;  // sums of synchronized batch norm, during forward and backward; not open
                     // before open_batch_norm()
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();  // phase of this process
  std::shared_ptr<Heartbeat> heartbeat;
  std::shared_ptr<Opener> opener;  // null in a world of one

  int rank() const { return env.rank; }
  int size() const { return env.world_size; }

  // Opens `batch_norm`, which only runs with --sync-bn need: on GPUs, each group takes memory. Does
  // nothing if it is open, or in a world of one. Collective. Throws like connect().
  void open_batch_norm();

  // Call once on every rank at the end of a successful run. Waits until all ranks have called it,
  // because rank 0's process must not end while other ranks use its store. Then closes NCCL and the
  // groups. Throws std::runtime_error if a rank does not call it within the timeout. Do not call it
  // after an error; exit the process instead.
  void shutdown();
};

// The process must ignore SIGPIPE: Gloo may write to a socket whose peer process has ended.
Communicator connect(const Env& env, const ConnectOptions& options = {});

}  // namespace shoal::dist
