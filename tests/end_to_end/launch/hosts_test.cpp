// Simulates three hosts of a SageMaker job without the SageMaker toolkit, as network namespaces
// joined by a bridge. Each has its own resourceconfig.json and /etc/hosts. Needs the right to
// create namespaces: CMake enables these tests if it can create one with a bridge and a veth pair.

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "tests/end_to_end/launch/small_run.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

void shell(const std::string& command) {
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

// Hosts with the addresses 10.77.0.1, 10.77.0.2 … on eth0. The bridge has its own namespace, so the
// network of this machine does not change.
class Cluster {
 public:
  // Delegates, so that the destructor also runs if a command fails here.
  Cluster(const fs::path& root, const std::vector<std::string>& hosts)
      : Cluster(root, hosts, WithoutNetwork()) {
    const std::string hub = space("hub");
    shell("ip netns add " + hub + " && ip -n " + hub + " link add name lan type bridge && ip -n " +
          hub + " link set lan up");
    for (size_t i = 0; i < hosts.size(); ++i) {
      const std::string ns = space(hosts[i]), port = "port" + std::to_string(i);
      shell("ip netns add " + ns + " && ip -n " + hub + " link add " + port +
            " type veth peer name eth0 netns " + ns + " && ip -n " + hub + " link set " + port +
            " master lan up && ip -n " + ns + " address add " + address(i) +
            "/24 dev eth0 && ip -n " + ns + " link set eth0 up && ip -n " + ns + " link set lo up");
      add_names(hosts[i], hosts);
      write_config(hosts[i]);
    }
  }
  ~Cluster() {
    for (const std::string& host : hosts_) remove(space(host));
    remove(space("hub"));
  }
  Cluster(const Cluster&) = delete;

  fs::path base(const std::string& host) const { return root_ / host; }

  // Lets `host` resolve these names from now on.
  void add_names(const std::string& host, const std::vector<std::string>& names) const {
    fs::create_directories(base(host));
    std::ofstream file(base(host) / "hosts", std::ios::app);
    for (const std::string& name : names)
      for (size_t i = 0; i < hosts_.size(); ++i)
        if (hosts_[i] == name) file << address(i) << " " << name << "\n";
  }
  void forget_names(const std::string& host) const {
    std::ofstream(base(host) / "hosts", std::ios::trunc) << "127.0.0.1 localhost\n";
  }

  // Limits the host's bandwidth to `rate` in both directions.
  void throttle(const std::string& host, const std::string& rate) const {
    const auto i = std::find(hosts_.begin(), hosts_.end(), host) - hosts_.begin();
    const std::string limit = " root tbf rate " + rate + " burst 64kb latency 500ms";
    shell("ip netns exec " + space(host) + " tc qdisc add dev eth0" + limit);
    shell("ip netns exec " + space("hub") + " tc qdisc add dev port" + std::to_string(i) + limit);
  }

  // Sets the host's link "up" or "down". A link that is down cuts the host off, as a pulled cable
  // or a power failure does.
  void set_link(const std::string& host, const std::string& state) const {
    const auto i = std::find(hosts_.begin(), hosts_.end(), host) - hosts_.begin();
    shell("ip -n " + space("hub") + " link set port" + std::to_string(i) + " " + state);
  }

  // Drops all packets of the host, although its link stays up.
  void drop_packets(const std::string& host) const {
    const auto i = std::find(hosts_.begin(), hosts_.end(), host) - hosts_.begin();
    shell("ip netns exec " + space("hub") + " bridge link set dev port" + std::to_string(i) +
          " state 0");
  }

  // Returns the local addresses and ports on which processes of the host listen.
  std::vector<std::string> listeners(const std::string& host) const {
    const fs::path file = base(host) / "listeners";
    shell("ip netns exec " + space(host) + " ss -Hltn >" + file.string());
    std::vector<std::string> found;
    std::ifstream in(file);
    std::string state, received, sent, local, remote;
    while (in >> state >> received >> sent >> local >> remote) found.push_back(local);
    return found;
  }

  test::Invocation on(const std::string& host, const std::vector<std::string>& words) const {
    std::string line = "mount --bind '" + (base(host) / "hosts").string() + "' /etc/hosts && exec";
    for (const std::string& word : words) line += " '" + word + "'";
    return {{"ip", "netns", "exec", space(host), "sh", "-c", line},
            {"SAGEMAKER_BASE_DIR=" + base(host).string()}};
  }

 private:
  struct WithoutNetwork {};
  Cluster(const fs::path& root, const std::vector<std::string>& hosts, WithoutNetwork)
      : root_(root), hosts_(hosts) {}

  static std::string space(const std::string& name) {
    return "shoal-" + std::to_string(::getpid()) + "-" + name;
  }
  static std::string address(size_t i) { return "10.77.0." + std::to_string(i + 1); }
  static void remove(const std::string& ns) {
    if (std::system(("ip netns delete " + ns + " 2>/dev/null").c_str()) != 0) return;
  }

  void write_config(const std::string& host) const {
    fs::create_directories(base(host) / "input/config");
    std::string list;
    for (const std::string& name : hosts_) list += (list.empty() ? "\"" : ", \"") + name + "\"";
    std::ofstream(base(host) / "input/config/resourceconfig.json")
        << R"({"current_host": ")" << host << R"(", "current_instance_type": "ml.c5.xlarge", )"
        << R"("current_group_name": "homogeneousCluster", "hosts": [)" << list
        << R"(], "instance_groups": [{"instance_group_name": "homogeneousCluster", )"
        << R"("instance_type": "ml.c5.xlarge", "hosts": [)" << list
        << R"(]}], "network_interface_name": "eth0"})";
  }

  fs::path root_;
  std::vector<std::string> hosts_;
};

}  // namespace

TEST_CASE("three SageMaker hosts without a toolkit train together and wait for a late host name",
          "[hosts]") {
  const test::SmallRun run(3);
  // The platform sorts the names as text: algo-1, algo-10, algo-2.
  const Cluster cluster(run.output("cluster"), {"algo-1", "algo-2", "algo-10"});
  cluster.forget_names("algo-10");
  bool known = false;
  const auto waits_for = [](pid_t host, const std::string& whom) {
    return test::stderr_of(host).find("waiting for " + whom) != std::string::npos;
  };
  const auto add_names = [&](const std::vector<pid_t>& hosts) {
    if (!known && waits_for(hosts[0], "rank 1") && waits_for(hosts[2], "algo-1")) {
      cluster.add_names("algo-10", {"algo-1", "algo-2", "algo-10"});
      known = true;
    }
    return false;
  };
  const auto words = run.words("bare");
  const auto outcomes = test::run_together(
      {cluster.on("algo-1", words), cluster.on("algo-2", words), cluster.on("algo-10", words)},
      add_names);
  test::require_success(outcomes);
  const std::string &first = outcomes[0].err, &last = outcomes[2].err;
  REQUIRE(first.find("waiting for rank 1 (algo-10)") != std::string::npos);
  REQUIRE(last.find("waiting for algo-1 to resolve") != std::string::npos);
  // Only the host of rank 0 writes to the platform's checkpoint folder.
  run.require_same_checkpoints(cluster.base("algo-1") / "checkpoints");
  REQUIRE_FALSE(fs::exists(cluster.base("algo-2") / "checkpoints"));
}

TEST_CASE("if a SageMaker host is missing, all others name it", "[hosts]") {
  const test::SmallRun run(1);
  const Cluster cluster(run.output("cluster"), {"algo-1", "algo-2", "algo-10"});
  const auto words = run.words("missing", {"--rendezvous-timeout", "4"});
  const auto outcomes =
      test::run_together({cluster.on("algo-1", words), cluster.on("algo-2", words)});
  for (const auto& outcome : outcomes) {
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 1);
    REQUIRE(outcome.err.find("for rank 1 (algo-10) of 3") != std::string::npos);
  }
}

TEST_CASE("without a loopback interface, several processes on one host are refused at once",
          "[hosts]") {
  std::vector<std::string> words = {"--net"};
  for (const auto& word : test::pair_run().words("no_loopback", {"--nproc", "2"}))
    words.push_back(word);
  const auto outcome = test::run_program("unshare", words, {}, {}, 20);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("loopback") && Catch::Contains("ip link set lo up"));
  CHECK(test::lines_of(outcome.err).size() == 1);
}

TEST_CASE("processes on a host whose loopback has only an IPv6 address connect over it",
          "[hosts]") {
  std::string line = "ip link set lo up && ip address delete 127.0.0.1/8 dev lo && exec";
  for (const auto& word : test::pair_run().words("ipv6", {"--nproc", "2"}))
    line += " '" + word + "'";
  const auto outcome = test::run_program("unshare", {"--net", "sh", "-c", line});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  test::pair_run().require_same("ipv6");
}

namespace {

const std::vector<std::string> kHosts = {"algo-1", "algo-2", "algo-10"};

std::vector<test::Invocation> on_all(const Cluster& cluster,
                                     const std::vector<std::string>& words) {
  std::vector<test::Invocation> invocations;
  for (const std::string& host : kHosts) invocations.push_back(cluster.on(host, words));
  return invocations;
}

// Trains on three hosts and calls `lose` after the first step. Returns their outcomes.
std::vector<test::Outcome> train_and_lose(const Cluster& cluster,
                                          const std::vector<std::string>& words,
                                          const fs::path& history,
                                          const std::function<void()>& lose) {
  bool lost = false;
  const auto outcomes = test::run_together(on_all(cluster, words), [&](const std::vector<pid_t>&) {
    if (!lost && !test::read_text(history).empty()) {
      lose();
      lost = true;
    }
    return false;
  });
  REQUIRE(lost);
  for (const auto& outcome : outcomes) {
    INFO(outcome.err);
    CHECK(outcome.exit_code == 4);
  }
  return outcomes;
}

}  // namespace

TEST_CASE("if a host disappears, the others end and name it, and rank 0 saves", "[lost]") {
  const test::SmallRun run(3);
  const Cluster cluster(run.output("cluster"), kHosts);
  auto words = run.words("lost", {"--lost-host-timeout", "4"});
  const fs::path history = run.output("lost") / "history.jsonl";
  const auto start = std::chrono::steady_clock::now();
  std::string listening;
  const auto outcomes = train_and_lose(cluster, words, history, [&] {
    for (const std::string& host : kHosts)
      for (const std::string& local : cluster.listeners(host))
        listening += host + " " + local + "\n";
    cluster.set_link("algo-2", "down");
  });
  CHECK_THAT(listening, Contains("algo-1 10.77.0.1:") && Contains("algo-2 10.77.0.2:") &&
                            Contains("algo-10 10.77.0.3:"));
  CHECK_THAT(listening, !Contains("*:") && !Contains("0.0.0.0:") && !Contains("[::]:"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(40));
  INFO(outcomes[0].err << outcomes[1].err << outcomes[2].err);
  CHECK(outcomes[0].err.find("rank 2 (algo-2) has sent no heartbeat") != std::string::npos);
  CHECK(outcomes[0].err.find("is saved") != std::string::npos);
  CHECK(outcomes[1].err.find("rank 0 (algo-1) has not answered for 4 s") != std::string::npos);
  cluster.set_link("algo-2", "up");
  words.push_back("--resume");
  test::require_success(test::run_together(on_all(cluster, words)));
  run.require_same_checkpoints(cluster.base("algo-1") / "checkpoints");
}

TEST_CASE("if rank 0's host no longer gets packets, the others end and name it", "[lost]") {
  const test::SmallRun run(1);
  const Cluster cluster(run.output("cluster"), kHosts);
  const auto words = run.words("lost", {"--lost-host-timeout", "4"});
  const auto outcomes = train_and_lose(cluster, words, run.output("lost") / "history.jsonl",
                                       [&] { cluster.drop_packets("algo-1"); });
  for (const size_t i : {1, 2})
    CHECK(outcomes[i].err.find("rank 0 (algo-1) has not answered") != std::string::npos);
  CHECK(outcomes[0].err.find("has sent no heartbeat") != std::string::npos);
}

TEST_CASE("a host behind a slow link is named before the first step", "[throttled]") {
  const test::SmallRun run(1);
  const Cluster cluster(run.output("cluster"), {"algo-1", "algo-2", "algo-10"});
  cluster.throttle("algo-2", "20mbit");
  const auto words = run.words("slow");
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = test::run_together(
      {cluster.on("algo-1", words), cluster.on("algo-2", words), cluster.on("algo-10", words)});
  REQUIRE(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  for (const auto& outcome : outcomes) {
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 1);
    REQUIRE(outcome.err.find("host algo-2") != std::string::npos);
    REQUIRE(outcome.err.find("host algo-1") == std::string::npos);  // excludes algo-10 too
  }
  REQUIRE_FALSE(fs::exists(run.output("slow") / "history.jsonl"));
}
