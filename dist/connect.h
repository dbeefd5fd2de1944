#pragma once
// From an Env to working groups of ranks.
//
// connect() returns when every rank has arrived, and all groups are usable. A world of one needs no
// network and opens none. Failures throw std::runtime_error naming host:port, this rank, which
// ranks are missing, and what to check; a request that cannot be met (NCCL without a GPU) throws
// std::invalid_argument.

#include <chrono>

#include "dist/env.h"
#include "dist/group.h"
#include "dist/heartbeat.h"
#include "dist/nccl.h"
#include "dist/network.h"

namespace shoal::dist {

enum class Backend { automatic, gloo, nccl };  // automatic: nccl when use_cuda, else gloo

struct ConnectOptions {
  Backend backend = Backend::automatic;
  // This rank computes on GPU `device`, which is already the current device.
  bool use_cuda = false;
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
