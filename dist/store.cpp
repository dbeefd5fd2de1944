#include "dist/store.h"

#include <c10/util/Logging.h>

#include <algorithm>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace shoal::dist {

namespace {

// c10d prints warnings with backtraces about what our errors say in one sentence.
class QuietLog {
 public:
  QuietLog() { FLAGS_caffe2_log_level = kFatal; }
  ~QuietLog() { FLAGS_caffe2_log_level = before_; }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  static constexpr int kFatal = 3;
  int before_ = FLAGS_caffe2_log_level;
};

std::string seconds(std::chrono::milliseconds time) {
  const auto tenths = time.count() / 100;
  return std::to_string(tenths / 10) + (tenths % 10 ? "." + std::to_string(tenths % 10) : "") +
         " s";
}

std::string first_line(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  text.erase(std::min({text.find('\n'), text.find(", keys:"), text.size()}));  // a key per rank
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

c10::intrusive_ptr<c10d::Store> open_store(const Env& env, std::chrono::milliseconds timeout) {
  const std::string where = env.master_addr + ":" + std::to_string(env.master_port);
  c10d::TCPStoreOptions options;
  options.port = env.master_port;
  options.isServer = env.rank == 0 && !env.agent_store;
  options.waitWorkers = false;  // join() waits, and says for whom
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(env.master_addr, options);
  } catch (const std::exception& error) {
    const std::string rank = "rank " + std::to_string(env.rank);
    if (options.isServer)
      throw std::runtime_error(
          rank + " cannot open the meeting point " + where + ": " + first_line(error) +
          "; is another program (or an earlier run) using the port? Choose another MASTER_PORT");
    throw std::runtime_error(
        rank + " did not reach " + (env.agent_store ? "the launcher's store" : "rank 0") + " at " +
        where + " within " + seconds(timeout) + ": " + first_line(error) + "; check that " +
        (env.agent_store ? "the launcher" : "rank 0") +
        " has started, that MASTER_ADDR and MASTER_PORT are the same for all ranks, and that no "
        "firewall or security group closes the port");
  }
}

std::string key_of(int rank) {
  return "rank/" + std::to_string(rank);
}

std::string missing_ranks(c10d::Store& store, int world_size) {
  constexpr int kNamed = 16;
  std::string list;
  int count = 0;
  for (int rank = 0; rank < world_size; ++rank) {
    if (store.check({key_of(rank)})) continue;
    if (++count <= kNamed) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  return count > kNamed ? list + " and " + std::to_string(count - kNamed) + " more" : list;
}

void join(c10d::Store& store, const Env& env, std::chrono::milliseconds timeout) {
  const std::string where = env.master_addr + ":" + std::to_string(env.master_port);
  const std::string who = "rank " + std::to_string(env.rank);
  const auto start = std::chrono::steady_clock::now();
  try {
    if (store.add("claimed/" + std::to_string(env.rank), 1) > 1)
      throw std::invalid_argument("another process has already joined as this rank");
    store.set(key_of(env.rank), std::to_string(env.world_size));
    std::vector<std::string> keys;
    for (int rank = 0; rank < env.world_size; ++rank) keys.push_back(key_of(rank));
    store.wait(keys, timeout);
    const std::string expected = std::to_string(env.world_size);
    if (const std::string first = store.get_to_str(key_of(0)); first != expected)
      throw std::invalid_argument("rank 0 was started with WORLD_SIZE " + first +
                                  ", this rank with " + expected);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(who + " at " + where + ": " + error.what() +
                             "; start all ranks of one run with one launcher command each host");
  } catch (const std::exception& error) {
    std::string missing;
    try {
      missing = missing_ranks(store, env.world_size);
    } catch (const std::exception&) {
      // The store is gone: the transport's reason below says so.
    }
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    throw std::runtime_error(
        who + " waited " + seconds(waited) + " at " + where + " for " +
        (missing.empty() ? "the other ranks" : "rank " + missing) + " of " +
        std::to_string(env.world_size) + ": " + first_line(error) +
        "; see what those processes say, and that they were started with this address");
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> meet(const Env& env, std::chrono::milliseconds timeout) {
  const QuietLog quiet;
  auto store = open_store(env, timeout);
  // Keys are never removed, so each attempt has its own.
  store =
      c10::make_intrusive<c10d::PrefixStore>("shoal/attempt_" + std::to_string(env.attempt), store);
  join(*store, env, timeout);
  return store;
}

}  // namespace shoal::dist
