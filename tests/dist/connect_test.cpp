#include "dist/connect.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "base/file/descriptor.h"
#include "dist/env/network.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;

namespace {

dist::ConnectOptions short_timeout() {
  dist::ConnectOptions options;
  options.rendezvous_timeout = std::chrono::milliseconds(1500);
  return options;
}

// Another program that listens at the port. Accepts connections and sends `greeting`. If `greeting`
// is empty, leaves all connections in the backlog.
class OtherProgram {
 public:
  OtherProgram(uint16_t port, const std::string& greeting)
      : socket_(dist::bound_socket("127.0.0.1", port)) {
    REQUIRE(::listen(socket_.number(), 16) == 0);
    if (greeting.empty()) return;
    thread_ = std::thread([this, greeting] {
      for (;;) {
        const Descriptor accepted(::accept(socket_.number(), nullptr, nullptr));
        if (!accepted.is_open()) return;
        ::send(accepted.number(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
      }
    });
  }
  ~OtherProgram() {
    ::shutdown(socket_.number(), SHUT_RDWR);  // ends accept()
    if (thread_.joinable()) thread_.join();
  }

 private:
  const Descriptor socket_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a single process opens no network connection") {
  dist::Communicator world = dist::connect(dist::single_process());
  CHECK(world.size() == 1);
  CHECK(world.main.state() == nullptr);
  world.shutdown();
}

TEST_CASE("a single process that makes no progress is reported, again after twice the wait") {
  std::array<std::promise<std::string>, 3> reports;
  size_t count = 0;
  dist::HeartbeatOptions options;
  options.patience = std::chrono::milliseconds(20);
  options.notify = [&](const std::string& text) {
    if (count < reports.size()) reports[count++].set_value(text);
  };
  const auto start = std::chrono::steady_clock::now();
  const dist::Heartbeat heartbeat(dist::single_process(), options,
                                  std::make_shared<const dist::Progress>());
  for (std::promise<std::string>& report : reports) {
    auto text = report.get_future();
    REQUIRE(text.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
    CHECK_THAT(text.get(), Contains("no progress for") && Contains("this process"));
  }
  CHECK(std::chrono::steady_clock::now() - start >= 4 * options.patience);
}

TEST_CASE("a rank that cannot reach the master names the address", "[slow]") {
  const uint16_t port = dist::free_port();
  const auto env = dist::for_local_worker(2, 1, port);
  CHECK_THROWS_WITH(dist::connect(env, short_timeout()),
                    Contains("rank 1 did not reach rank 0 at 127.0.0.1:" + std::to_string(port)) &&
                        Contains("MASTER_ADDR"));
}

TEST_CASE("another program at the master's port is an error after the timeout", "[slow]") {
  const std::string greeting = GENERATE("", "SSH-2.0-other\r\n");
  const uint16_t port = dist::free_port();
  const OtherProgram other(port, greeting);
  const auto env = dist::for_local_worker(2, 1, port);
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(dist::connect(env, short_timeout()),
                    Contains("rank 1 of 2: 127.0.0.1:" + std::to_string(port)) &&
                        (Contains("does not answer") && Contains("rank 0")) &&
                        Contains("--master-port"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(1));
}

TEST_CASE("rank 0 warns if the master's address is not one of this host") {
  std::vector<std::string> messages;
  auto options = short_timeout();
  options.heartbeat.notify = [&](const std::string& text) { messages.push_back(text); };
  auto env = dist::for_local_worker(2, 0, dist::free_port());
  env.local_world_size = 1;
  env.master_addr = "203.0.113.254";  // reserved for documentation
  CHECK_THROWS(dist::connect(env, options));
  REQUIRE_FALSE(messages.empty());
  CHECK_THAT(messages[0], Contains("203.0.113.254 is not an address of this host"));
}

TEST_CASE("rank 0 names its address and the missing ranks") {
  const uint16_t port = dist::free_port();
  const auto env = dist::for_local_worker(3, 0, port);
  CHECK_THROWS_WITH(dist::connect(env, short_timeout()),
                    Contains("rank 0 waited ") && Contains("127.0.0.1:" + std::to_string(port)) &&
                        Contains("for rank 1, 2 of 3; check") && !Contains("wait timeout"));
}

TEST_CASE("a missing rank is named with its host") {
  auto env = dist::for_local_worker(3, 0, dist::free_port());
  env.local_world_size = 1;
  env.hosts = {"127.0.0.1", "localhost", "nosuch.invalid"};
  CHECK_THROWS_WITH(
      dist::connect(env, short_timeout()),
      (Contains("1 (localhost)") && Contains("2 (nosuch.invalid") && Contains("no address")));
}

TEST_CASE("ranks of a host that are not consecutive are refused on every rank") {
  test::run_ranks(4, "alternating hosts", [](dist::Env env) {
    env.local_world_size = 2;
    env.local_rank = env.rank / 2;
    REQUIRE_THROWS_WITH(dist::connect(env), Contains("rank 1 is local rank 0 of 2 on its host"));
  });
  test::run_ranks(3, "uneven hosts", [](dist::Env env) {
    env.local_world_size = env.rank < 2 ? 2 : 1;
    env.local_rank = env.rank % 2;
    REQUIRE_THROWS_WITH(dist::connect(env), Contains("rank 0 has 2") && Contains("rank 2 has 1"));
  });
}

TEST_CASE("a master whose name does not resolve is named") {
  auto env = dist::for_local_worker(2, 1, dist::free_port());
  env.local_world_size = 1;
  env.local_rank = 0;
  env.master_addr = "nosuch.invalid";
  CHECK_THROWS_WITH(dist::connect(env, short_timeout()),
                    Contains("nosuch.invalid did not resolve"));
}

TEST_CASE("a long wait for rank 0 is reported before a short timeout ends", "[slow]") {
  std::vector<std::string> messages;
  auto options = short_timeout();
  options.rendezvous_timeout = std::chrono::milliseconds(6500);
  options.heartbeat.notify = [&](const std::string& text) { messages.push_back(text); };
  auto env = dist::for_local_worker(2, 1, dist::free_port());
  env.local_rank = 0;  // only local rank 0 of a host reports the wait
  CHECK_THROWS_WITH(dist::connect(env, options),
                    Contains(" s; check that rank 0") && !Contains("timed out"));
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0],
             Contains("rank 1 is waiting for rank 0 at 127.0.0.1:") && Contains("(5 s so far)"));
}

TEST_CASE("a long wait reports the missing rank", "[slow]") {
  std::vector<std::string> messages;
  auto options = short_timeout();
  options.rendezvous_timeout = std::chrono::milliseconds(6500);
  options.heartbeat.notify = [&](const std::string& text) { messages.push_back(text); };
  const auto env = dist::for_local_worker(2, 0, dist::free_port());
  CHECK_THROWS(dist::connect(env, options));
  REQUIRE_FALSE(messages.empty());
  CHECK_THAT(messages[0], Contains("waiting for rank 1 of 2 at 127.0.0.1:") && Contains("so far"));
}

TEST_CASE("the error for a port in use names the address") {
  test::run_ranks(2, "port in use", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    if (env.rank == 0)
      REQUIRE_THROWS_WITH(dist::connect(env, short_timeout()),
                          Contains("rank 0 cannot open the rendezvous store at 127.0.0.1:" +
                                   std::to_string(env.master_port)) &&
                              Contains("MASTER_PORT"));
    world.shutdown();
  });
}

TEST_CASE("ranks with different world sizes are an error", "[slow]") {
  // Rank `larger` expects three ranks; the other rank expects two. With `larger` 2, the second
  // process is rank 2 instead of rank 1.
  for (const int larger : {0, 1, 2}) {
    const auto start = std::chrono::steady_clock::now();
    const auto results =
        test::run_ranks_and_report(2, "larger " + std::to_string(larger), [larger](dist::Env env) {
          if (env.rank == larger) env.world_size = 1 + 2;
          if (env.rank == 1 && larger == 2) env.rank = 2, env.world_size = 3;
          dist::connect(env);  // fails long before its timeout of 15 minutes
        });
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(1));
    CHECK(results[0].exit_code == 1);
    CHECK(results[1].exit_code == 1);
    const int size = larger == 0 ? 2 : 3;  // WORLD_SIZE of the second process
    CHECK_THAT(results[1].output,
               Contains("WORLD_SIZE") && Contains("this rank with " + std::to_string(size)));
    CHECK_THAT(results[0].output, Contains("was started with WORLD_SIZE " + std::to_string(size)));
  }
}

TEST_CASE("all ranks are clients of a store that the launcher runs") {
  test::run_ranks(3, "agent store", [](dist::Env env) {
    // The store of a first rendezvous serves as the launcher's store in a second one.
    dist::Communicator agent = dist::connect(env);
    env.agent_store = true;
    env.attempt = 1;
    for (int command = 0; command < 2; ++command) {  // two commands of one script
      dist::Communicator world = dist::connect(env);
      world.control.barrier("joined");
      world.shutdown();
    }
    agent.shutdown();
  });
}

TEST_CASE("a heartbeat that waits for a killed store process prints no stack trace") {
  const auto results = test::run_ranks_and_report(2, "killed", [](const dist::Env& env) {
    std::promise<void> silent;
    dist::ConnectOptions options;
    options.heartbeat.lost_after = std::chrono::milliseconds(400);
    options.heartbeat.lost = [&](const std::string&) { silent.set_value(); };
    dist::Communicator world = dist::connect(env, options);
    at::Tensor store_process = at::full({1}, env.rank == 0 ? ::getpid() : 0, at::kLong);
    world.main.all_reduce_sum(store_process);
    if (env.rank == 0) world.control.barrier("killed here");
    const auto process = static_cast<pid_t>(store_process.item<int64_t>());
    REQUIRE(process > 1);  // kill(0, ...) and kill(-1, ...) signal many processes
    ::kill(process, SIGSTOP);
    silent.get_future().wait();
    ::kill(process, SIGKILL);
    world.heartbeat.reset();  // waits for its thread
  });
  CHECK(results[0].signal == SIGKILL);
  INFO(results[1].output);
  CHECK(results[1].exit_code == 0);
  CHECK_THAT(results[1].output, !Contains("frame #") && !Contains("TCPStore"));
}

TEST_CASE("ranks that were suspended together are not lost", "[slow]") {
  test::run_ranks(2, "suspended", [](const dist::Env& env) {
    using std::chrono::milliseconds;
    std::atomic<int> losses = 0;
    dist::ConnectOptions options;
    options.heartbeat.patience = milliseconds(0);
    options.heartbeat.lost_after = milliseconds(4000);  // rank 0 reports a loss after 2 s
    options.heartbeat.lost = [&](const std::string&) { ++losses; };
    dist::Communicator world = dist::connect(env, options);
    at::Tensor processes = at::zeros({2}, at::kLong);
    processes[env.rank].fill_(::getpid());
    world.main.all_reduce_sum(processes);
    const auto first = static_cast<pid_t>(processes[0].item<int64_t>());
    const auto second = static_cast<pid_t>(processes[1].item<int64_t>());
    REQUIRE((first > 1 && second > 1));  // kill(0, ...) and kill(-1, ...) signal many processes
    // A child process suspends rank 1 and then rank 0, so that rank 0 has seen rank 1's last
    // heartbeat. After 3 s, it continues rank 0 and then rank 1.
    const pid_t child = env.rank == 0 ? ::fork() : 1;
    REQUIRE(child >= 0);
    if (child == 0) {
      ::usleep(1'500'000);  // rank 0 reads heartbeats after 1 s without progress
      ::kill(second, SIGSTOP);
      ::usleep(700'000);
      ::kill(first, SIGSTOP);
      ::usleep(3'000'000);
      ::kill(first, SIGCONT);
      ::usleep(700'000);
      ::kill(second, SIGCONT);
      ::_exit(0);
    }
    std::this_thread::sleep_for(milliseconds(7200));
    world.control.barrier("continued");
    REQUIRE(losses == 0);
    world.shutdown();
  });
}

TEST_CASE("the error for an unknown interface lists the existing ones") {
  auto env = dist::for_local_worker(2, 0, dist::free_port());
  env.interface = "nosuch0";
  CHECK_THROWS_WITH(dist::connect(env, short_timeout()),
                    Contains("nosuch0") && Contains("lo") && Contains("GLOO_SOCKET_IFNAME"));
}

TEST_CASE("ranks connect over a named interface") {
  test::run_ranks(2, "lo", [](dist::Env env) {
    env.interface = "lo";
    dist::Communicator world = dist::connect(env);
    world.control.barrier("joined");
    world.shutdown();
  });
}

TEST_CASE("NCCL without GPUs is refused") {
  dist::ConnectOptions options;
  options.backend = dist::Backend::nccl;
  CHECK_THROWS_WITH(dist::connect(dist::single_process(), options), Contains("--backend nccl"));
}

TEST_CASE("the backend is NCCL if each rank has its own GPU, otherwise Gloo") {
  using dist::Backend;
  using Names = std::vector<std::string>;
  dist::Env env = dist::for_local_worker(2, 0, 1);
  const auto choose = [&](Backend asked, const Names& gpus) {
    return dist::choose_backend(asked, gpus, env);
  };
  CHECK(choose(Backend::automatic, {"", ""}) == Backend::gloo);
  CHECK(choose(Backend::automatic, {"a", "b"}) == Backend::nccl);
  CHECK(choose(Backend::nccl, {"a", "b"}) == Backend::nccl);
  CHECK(choose(Backend::gloo, {"a", "b"}) == Backend::gloo);
  CHECK(choose(Backend::automatic, {"a", "b", "a"}) == Backend::gloo);
  CHECK(choose(Backend::gloo, {"a", "a"}) == Backend::gloo);
  env.hosts = {"algo-1", "algo-2"};
  env.local_world_size = 1;
  CHECK_THROWS_WITH(choose(Backend::nccl, {"a", "a"}),
                    Contains("ranks 0 and 1 (algo-2) share a GPU"));
  CHECK_THROWS_WITH(choose(Backend::nccl, {"", ""}), Contains("--backend gloo"));
  CHECK_THROWS_WITH(
      choose(Backend::automatic, {"", "a"}),
      Contains("rank 1 (algo-2) computes on a GPU") && Contains("rank 0 (algo-1) on the CPU"));
}

TEST_CASE("if only some ranks have a GPU, every rank reports it") {
  test::run_ranks(3, "mixed", [](dist::Env env) {
    dist::ConnectOptions options;
    if (env.rank != 1) options.gpu = "a";
    REQUIRE_THROWS_WITH(dist::connect(env, options), Contains("but rank 1 on the CPU"));
  });
}

TEST_CASE("if ranks are started with different backends, every rank reports it") {
  test::run_ranks(2, "different", [](dist::Env env) {
    dist::ConnectOptions options;
    options.gpu = env.rank == 0 ? "a" : "b";
    if (env.rank == 1) options.backend = dist::Backend::gloo;
    REQUIRE_THROWS_WITH(dist::connect(env, options),
                        (Contains("--backend auto") && Contains("--backend gloo")));
  });
}

TEST_CASE("ranks that share a GPU use Gloo") {
  test::run_ranks(2, "shared", [](dist::Env env) {
    dist::ConnectOptions options;
    options.gpu = "a";
    dist::Communicator world = dist::connect(env, options);
    REQUIRE(world.backend == dist::Backend::gloo);
    world.shutdown();
  });
}
