// Set-up order: all ranks join one store, then each opens the same groups in the same order. Each
// group has its own key prefix in the store and its own connections.

#include "dist/connect.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "dist/gather.h"
#include "dist/gloo.h"
#include "dist/group_state.h"
#include "dist/health/store.h"

namespace shoal::dist {

namespace {

// The ranks get at least this time to join, even if resolving the master's name took most of the
// timeout.
constexpr std::chrono::milliseconds kLeast = std::chrono::seconds(1);

// Warns if other hosts probably cannot reach rank 0 at the master's address. This is not an error,
// because the network may translate the address (NAT, a Kubernetes service).
void check_master(const Env& env, const Notify& notify) {
  if (env.rank == 0 && !env.agent_store && !may_be_this_host(env.master_addr))
    notify("rank 0 runs on this host, but MASTER_ADDR (--master-addr) " + env.master_addr +
           " is not an address of this host; the other ranks may not reach rank 0 there");
}

}  // namespace

// Opens groups, on all ranks in the same order. Keeps the connection to the store.
class Opener {
 public:
  // Joins the other ranks. Updates `env`.
  Opener(Env& env, const ConnectOptions& options) : options_(options) {
    const Notify notify =
        env.local_rank == 0 ? options.heartbeat.notify : [](const std::string&) {};
    const auto start = std::chrono::steady_clock::now();
    if (env.local_world_size < env.world_size) {
      wait_for_address(env.master_addr, options.rendezvous_timeout, notify);
      check_master(env, notify);
    }
    address_ = gloo_address(env);  // before the rendezvous, so that a wrong interface fails at once
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    store_ = rendezvous(env, std::max(options.rendezvous_timeout - waited, kLeast), notify);
    env_ = env;
  }

  Group open(const std::string& name, bool with_nccl) {
    auto state = std::make_shared<GroupState>();
    state->name = name;
    state->rank = env_.rank;
    state->size = env_.world_size;
    state->progress = options_.progress;
    auto store = c10::make_intrusive<c10d::PrefixStore>(name, store_);
    const std::string where = env_.master_addr + ":" + std::to_string(env_.master_port);
    guarded(*state, "connecting over " + address_.text() + " (rendezvous at " + where + ")", [&] {
      state->gloo =
          make_gloo(c10::make_intrusive<c10d::PrefixStore>("gloo", store), env_.rank,
                    env_.world_size, address_, options_.rendezvous_timeout, options_.timeout);
    });
    if (with_nccl)
      guarded(*state, "connecting NCCL on GPU " + std::to_string(options_.device), [&] {
        auto nccl_store = c10::make_intrusive<c10d::PrefixStore>("nccl", store);
        state->nccl = c10::intrusive_ptr<c10d::Backend>::reclaim(
            options_.nccl->make(nccl_store.get(), env_.rank, env_.world_size, options_.device,
                                options_.timeout.count(), name.c_str()));
      });
    if (with_nccl) state->close_nccl = options_.nccl->shutdown;
    return Group(std::move(state));
  }

 private:
  Env env_;
  const ConnectOptions options_;
  GlooAddress address_;
  c10::intrusive_ptr<c10d::Store> store_;
};

namespace {

// Chooses the backend from all ranks' options. Every rank returns the same or throws the same
// error.
Backend agree_on_backend(const ConnectOptions& options, const Group& group, const Env& env) {
  const auto asked = gather_text(group, name_of(options.backend));
  for (size_t rank = 1; rank < asked.size(); ++rank)
    if (asked[rank] != asked[0])
      throw std::runtime_error("rank " + rank_with_host(0, env) + " was started with --backend " +
                               asked[0] + ", but rank " +
                               rank_with_host(static_cast<int>(rank), env) + " with --backend " +
                               asked[rank] + "; use the same on every rank");
  return choose_backend(options.backend, gather_text(group, options.gpu), env);
}

// Throws unless every host has the same number of ranks and the ranks of each host are consecutive.
// Code that finds a rank's host or divides shards and pipes among ranks relies on this. Every rank
// throws the same error.
void require_blocks(const Group& group, const Env& env) {
  const auto local = gather_number(group, env.local_rank);
  const auto sizes = gather_number(group, env.local_world_size);
  for (size_t rank = 0; rank < local.size(); ++rank) {
    if (sizes[rank] != sizes[0])
      throw std::runtime_error("the host of rank 0 has " + std::to_string(sizes[0]) +
                               " processes, but that of rank " + std::to_string(rank) + " has " +
                               std::to_string(sizes[rank]) + "; start the same number on each");
    if (local[rank] != static_cast<int64_t>(rank) % sizes[0])
      throw std::runtime_error("rank " + std::to_string(rank) + " is local rank " +
                               std::to_string(local[rank]) + " of " + std::to_string(sizes[0]) +
                               " on its host; the ranks of a host must be consecutive "
                               "(mpirun --map-by slot, srun --distribution=block)");
  }
}

}  // namespace

Communicator connect(const Env& given, const ConnectOptions& options) {
  Communicator result;
  Env& env = result.env = given;
  result.progress = options.progress;
  const auto heartbeat = [&] {
    return std::make_shared<Heartbeat>(env, options.heartbeat, options.progress);
  };
  if (env.world_size == 1) {
    choose_backend(options.backend, {options.gpu}, env);
    result.main = Group(options.progress);
    result.heartbeat = heartbeat();
    return result;
  }
  const auto opener = std::make_shared<Opener>(env, options);
  result.heartbeat = heartbeat();
  result.control = opener->open("control", false);
  require_blocks(result.control, env);
  result.backend = agree_on_backend(options, result.control, env);
  const bool nccl = result.backend == Backend::nccl;
  if (nccl && !options.nccl)
    throw std::logic_error("the NCCL backend needs the functions of the CUDA plug-in");
  result.main = opener->open("main", nccl);
  result.opener = opener;
  return result;
}

void Communicator::open_batch_norm() {
  if (opener && !batch_norm.state())
    batch_norm = opener->open("batch_norm", backend == Backend::nccl);
}

void Communicator::shutdown() {
  if (heartbeat) heartbeat->expect_end();
  control.barrier("end of run");
  heartbeat.reset();
  for (const Group* group : {&main, &batch_norm})
    if (const auto& state = group->state(); state && state->nccl)
      state->close_nccl(state->nccl.get());
  main = control = batch_norm = Group();
  opener.reset();
}

}  // namespace shoal::dist
