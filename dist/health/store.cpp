#include "dist/health/store.h"

#include <c10/util/Logging.h>

#include <algorithm>
#include <future>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/text.h"
#include "dist/health/named_ranks.h"
#include "dist/transport_error.h"

namespace shoal::dist {

namespace {

constexpr int kFatal = 3;  // LibTorch's log level FATAL

std::string seconds(std::chrono::milliseconds time) {
  const auto tenths = (time.count() + 50) / 100;
  return std::to_string(tenths / 10) + (tenths % 10 ? "." + std::to_string(tenths % 10) : "") +
         " s";
}

using Milliseconds = std::chrono::milliseconds;
using Clock = Reminder::Clock;

constexpr Milliseconds kAttempt = std::chrono::seconds(5);  // longest attempt to connect
constexpr Milliseconds kPiece = std::chrono::seconds(5);    // maximum time of one wait for keys
constexpr Milliseconds kPoll(100);                          // how often an attempt is checked
constexpr Milliseconds kProbe = std::chrono::seconds(1);    // timeout of accepts_connections()

// Returns the time left, at least 1 ms.
Milliseconds until(Clock::time_point time) {
  const auto left = std::chrono::ceil<Milliseconds>(time - Clock::now());
  return std::max(left, Milliseconds(1));
}

// Returns ": REASON"; empty if the error only says that a wait timed out.
std::string reason_of(const std::exception& error) {
  const std::string reason = message_beyond_timeout(error);
  return reason.empty() ? "" : ": " + reason;
}

c10d::TCPStoreOptions store_options(const Env& env, Milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = env.master_port;
  options.waitWorkers = false;  // join() waits and names the missing ranks
  options.timeout = timeout;
  return options;
}

std::string place(const Env& env) {
  return env.master_addr + ":" + std::to_string(env.master_port);
}

std::string master_name(const Env& env) {
  return env.agent_store ? "the launcher's store" : "rank 0";
}

std::string so_far(const Reminder& reminder) {
  return " (" + std::to_string(reminder.seconds()) + " s so far)";
}

c10::intrusive_ptr<c10d::Store> serve(const Env& env, c10d::TCPStoreOptions options) {
  options.isServer = true;
  try {
    // Passes a bound socket, because the store would otherwise listen on all interfaces of the
    // host.
    const std::string host = own_address(env);
    options.masterListenFd = bound_socket(host, env.master_port);
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const std::exception& error) {
    throw std::runtime_error(
        "rank " + std::to_string(env.rank) + " cannot open the rendezvous store at " + place(env) +
        ": " + transport_message(error) +
        "; if another program or an earlier run uses the port, choose another MASTER_PORT");
  }
}

using Client = c10::intrusive_ptr<c10d::TCPStore>;

// Connects to the store in a thread of its own. If a server accepts the connection and sends
// nothing, TCPStore's constructor never returns. The caller then abandons the future, and the
// thread, which owns all that it uses, waits until the process ends.
std::future<Client> start_client(const std::string& host, const c10d::TCPStoreOptions& options) {
  std::packaged_task<Client()> task(
      [host, options] { return c10::make_intrusive<c10d::TCPStore>(host, options); });
  auto client = task.get_future();
  std::thread(std::move(task)).detach();
  return client;
}

// Connects a rank to the store of rank 0 or of the launcher.
class Connector {
 public:
  Connector(const Env& env, Milliseconds timeout, const Notify& notify)
      : env_(env), timeout_(timeout), notify_(notify), end_(Clock::now() + timeout) {}

  Client connect() {
    do {
      try {
        if (Client client = attempt()) {
          client->setTimeout(timeout_);
          return client;
        }
      } catch (const std::exception& error) {
        reason_ = reason_of(error);
        // "Ping failed" means that a program at this port did not answer as a TCPStore does.
        other_program_ = reason_.find("Ping failed") != std::string::npos;
      }
      remind();
      std::this_thread::sleep_until(std::min(Clock::now() + kPoll, end_));
    } while (Clock::now() < end_);
    fail();
  }

 private:
  // Tries once to connect. Returns null if `end_` passes first.
  Client attempt() {
    const auto start = Clock::now();
    const std::string host = store_host(env_);
    const auto options = store_options(env_, std::min(until(end_), kAttempt));
    auto client = start_client(host, options);
    while (client.wait_until(std::min(Clock::now() + kPoll, end_)) != std::future_status::ready) {
      // Connecting takes at most options.timeout. If TCPStore needs much longer, it has connected
      // and waits for an answer.
      const bool connected = Clock::now() > start + options.timeout + 2 * kProbe;
      if (Clock::now() >= end_) {
        other_program_ = connected || accepts_connections(host, env_.master_port, kProbe);
        return {};
      }
      remind();
    }
    return client.get();
  }

  void remind() {
    if (reminder_.due())
      notify_("rank " + std::to_string(env_.rank) + " is waiting for " + master_name(env_) +
              " at " + place(env_) + so_far(reminder_));
  }

  [[noreturn]] void fail() const {
    const std::string who = "rank " + std::to_string(env_.rank);
    if (other_program_)
      throw std::runtime_error(who + " of " + std::to_string(env_.world_size) + ": " + place(env_) +
                               " accepts connections but does not answer as " + master_name(env_) +
                               " of this run within " + seconds(timeout_) +
                               "; if another program uses this port, choose another MASTER_PORT "
                               "(--master-port)");
    throw std::runtime_error(
        who + " did not reach " + master_name(env_) + " at " + place(env_) + " within " +
        seconds(timeout_) + reason_ + "; check that " +
        (env_.agent_store ? "the launcher" : "rank 0") +
        " has started, that MASTER_ADDR and MASTER_PORT are the same for all ranks, and that no "
        "firewall or security group closes the port");
  }

  const Env& env_;
  const Milliseconds timeout_;
  const Notify& notify_;
  const Clock::time_point end_;
  Reminder reminder_;
  std::string reason_;          // of the last failed attempt; see reason_of()
  bool other_program_ = false;  // whether another program seems to use the port
};

c10::intrusive_ptr<c10d::Store> open_store(const Env& env, Milliseconds timeout,
                                           const Notify& notify) {
  if (env.rank != 0 || env.agent_store) return Connector(env, timeout, notify).connect();
  return serve(env, store_options(env, timeout));
}

// Keys are never removed, so each attempt and each command has its own prefix.
std::string attempt_prefix(const Env& env) {
  return "shoal/attempt_" + std::to_string(env.attempt) + "/command_" + std::to_string(env.command);
}

std::string key_of(int rank) {
  return "rank/" + std::to_string(rank);
}

// Returns rank_with_host(), with a remark if the host has no address yet.
std::string named(int rank, const Env& env) {
  std::string text = rank_with_host(rank, env);
  if (!env.hosts.empty() &&
      !has_address(env.hosts[static_cast<size_t>(rank / env.local_world_size)]))
    text.insert(text.size() - 1, ", which has no address yet");
  return text;
}

std::string missing_ranks(c10d::Store& store, const Env& env) {
  std::vector<std::string> missing;
  for (int rank = 0; rank < env.world_size; ++rank) {
    if (store.check({key_of(rank)})) continue;
    // Ranks after the first kNamedRanks are only counted, which saves the look-up of their hosts.
    missing.push_back(missing.size() < kNamedRanks ? named(rank, env) : "");
  }
  return joined(missing, ", ", kNamedRanks);
}

// A rank whose world size differs from that of rank 0 stores a message under this key.
constexpr const char* kOtherSize = "other_size";

std::string size_of(int rank, const std::string& world_size) {
  return "rank " + std::to_string(rank) + " was started with WORLD_SIZE " + world_size;
}

// Throws std::invalid_argument if a rank has joined with another world size. Rank 0 checks
// ranks 0 to world_size - 1. Every other rank checks only rank 0 and reports a difference under
// kOtherSize. So rank 0 also learns of ranks with higher numbers.
void check_world_sizes(c10d::Store& store, const Env& env) {
  const std::string own = std::to_string(env.world_size);
  const auto refuse = [&](const std::string& other) {
    throw std::invalid_argument(other + ", this rank with " + own +
                                " (hosts with different numbers of GPUs need --nproc)");
  };
  for (int rank = 0; rank < (env.rank == 0 ? env.world_size : 1); ++rank) {
    if (!store.check({key_of(rank)})) continue;
    const std::string other = store.get_to_str(key_of(rank));
    if (other == own) continue;
    if (env.rank != 0) store.set(kOtherSize, size_of(env.rank, own));
    refuse(size_of(rank, other));
  }
  if (env.rank == 0 && store.check({kOtherSize})) refuse(store.get_to_str(kOtherSize));
}

// Returns when all keys exist. Throws the store's error if the connection fails or keys are missing
// at the time `end`. Throws what check_world_sizes() throws.
void wait_for_all(c10d::Store& store, const std::vector<std::string>& keys, const Env& env,
                  Clock::time_point end, const Notify& notify) {
  for (Reminder reminder;;) {
    // Waits in pieces, so that notify() is called when a report is due.
    const auto piece = std::min(until(std::min(end, reminder.next())), kPiece);
    try {
      return store.wait(keys, piece);
    } catch (const std::exception& error) {
      if (Clock::now() >= end || !message_beyond_timeout(error).empty()) throw;
    }
    check_world_sizes(store, env);
    // Every rank calls due(), because it also moves next() into the future. Only rank 0 reports.
    if (reminder.due() && env.rank == 0)
      notify("waiting for rank " + missing_ranks(store, env) + " of " +
             std::to_string(env.world_size) + " at " + place(env) + so_far(reminder));
  }
}

// After a failed wait, every rank that joined asks the store which ranks are missing. Rank 0 hosts
// the store, so rank 0 waits at most this long until the other ranks have asked.
constexpr Milliseconds kLeaving = std::chrono::seconds(5);

void take_leave(c10d::Store& store, const Env& env) {
  const auto left = [](int rank) { return "left/" + std::to_string(rank); };
  if (env.rank != 0 || env.agent_store) return store.set(left(env.rank), std::string());
  std::vector<std::string> others;
  for (int rank = 1; rank < env.world_size; ++rank)
    if (store.check({key_of(rank)})) others.push_back(left(rank));
  if (!others.empty()) store.wait(others, kLeaving);
}

void join(c10d::Store& store, const Env& env, Milliseconds timeout, const Notify& notify) {
  const std::string where = place(env);
  const std::string who = "rank " + std::to_string(env.rank);
  const auto start = Clock::now();
  try {
    if (store.add("claimed/" + std::to_string(env.rank), 1) > 1)
      throw std::invalid_argument("another process has already joined as this rank");
    store.set(key_of(env.rank), std::to_string(env.world_size));
    std::vector<std::string> keys;
    for (int rank = 0; rank < env.world_size; ++rank) keys.push_back(key_of(rank));
    // Waits for rank 0 first: if the world sizes differ, some of the other keys never appear.
    wait_for_all(store, {keys.front()}, env, start + timeout, notify);
    check_world_sizes(store, env);
    wait_for_all(store, keys, env, start + timeout, notify);
    check_world_sizes(store, env);
  } catch (const std::invalid_argument& error) {
    // Rank 0 serves the store until the other ranks have found the problem, too.
    try {
      take_leave(store, env);
    } catch (const std::exception&) {  // the connection is lost
    }
    throw std::runtime_error(who + " at " + where + ": " + error.what() +
                             "; start all ranks of a run with one launcher command per host");
  } catch (const std::exception& error) {
    const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - start);
    std::string missing;
    try {
      missing = missing_ranks(store, env);
      take_leave(store, env);
    } catch (const std::exception&) {
      // The store is gone, or another rank did not leave in time. The original error is thrown.
    }
    throw std::runtime_error(
        who + " waited " + seconds(waited) + " at " + where + " for " +
        (missing.empty() ? "the other ranks" : "rank " + missing) + " of " +
        std::to_string(env.world_size) + reason_of(error) +
        "; check the output of those processes and that they use this address. If their hosts "
        "only start later, raise --rendezvous-timeout SECONDS");
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> open_connection(const Env& env, const std::string& name) {
  const auto options = store_options(env, std::chrono::seconds(30));
  return c10::make_intrusive<c10d::PrefixStore>(
      attempt_prefix(env) + "/" + name,
      c10::make_intrusive<c10d::TCPStore>(store_host(env), options));
}

c10::intrusive_ptr<c10d::Store> rendezvous(Env& env, Milliseconds timeout, const Notify& notify) {
  // Turns off c10d's log of its exceptions (with C++ stack traces), also for threads that use the
  // store later. shoal reports the exceptions as sentences.
  FLAGS_caffe2_log_level = kFatal;
  const auto start = Clock::now();
  auto store = open_store(env, timeout, notify);
  if (env.agent_store)
    env.command = store->add(
        "shoal/commands/attempt_" + std::to_string(env.attempt) + "/" + std::to_string(env.rank),
        1);
  store = c10::make_intrusive<c10d::PrefixStore>(attempt_prefix(env), store);
  const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - start);
  join(*store, env, std::max(timeout - waited, Milliseconds(1000)), notify);
  return store;
}

}  // namespace shoal::dist
