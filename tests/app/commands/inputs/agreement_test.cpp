#include "app/commands/inputs/agreement.h"

#include <catch2/catch.hpp>
#include <set>

#include "dist/gather.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;

namespace {

// A dataset with one empty image per class.
class Listing : public data::BasicDataset {
 public:
  explicit Listing(std::vector<std::string> classes) : classes_(std::move(classes)) {}
  int64_t size() const override { return static_cast<int64_t>(classes_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return static_cast<int32_t>(sample); }
  std::string name(int64_t sample) const override { return "image " + std::to_string(sample); }
  void read(int64_t, std::vector<uint8_t>&) const override {}

 private:
  std::vector<std::string> classes_;
};

// Connects the ranks as if ranks 0 and 1 ran on one host and ranks 2 and 3 on another.
dist::Communicator on_two_hosts(const dist::Env& env) {
  dist::Communicator communicator = dist::connect(env);
  communicator.env.local_world_size = 2;
  communicator.env.local_rank = env.rank % 2;
  return communicator;
}

}  // namespace

TEST_CASE("hosts with different classes agree on the union, and labels are renumbered") {
  test::run_ranks(4, "classes", [](const dist::Env& env) {
    const auto world = on_two_hosts(env);
    const bool first = env.rank < 2;
    const auto own = std::make_shared<Listing>(first ? std::vector<std::string>{"cat", "fox"}
                                                     : std::vector<std::string>{"ant", "cat"});
    const auto all = app::with_all_classes(own, world);
    REQUIRE(all->classes() == std::vector<std::string>{"ant", "cat", "fox"});
    REQUIRE((all->label(0) == (first ? 1 : 0) && all->label(1) == (first ? 2 : 1)));
  });
}

TEST_CASE("every rank names the ranks whose images differ from those of rank 0") {
  test::run_ranks(3, "listing", [](const dist::Env& env) {
    auto world = dist::connect(env);
    const Listing same({"a", "b"}), other({"a", "b", "c"});
    REQUIRE_NOTHROW(app::check_same_listing(same, "--train", "data", world));
    try {
      app::check_same_listing(env.rank == 2 ? other : same, "--train", "data", world);
    } catch (const std::runtime_error& error) {
      REQUIRE_THAT(error.what(), Contains("--train data") && Contains("rank 2") &&
                                     Contains("3 images") && !Contains("rank 1"));
      return;
    }
    throw std::logic_error("the difference was not found");
  });
}

TEST_CASE("image counts are summed over hosts, each host once") {
  test::run_ranks(4, "shares", [](const dist::Env& env) {
    const auto world = on_two_hosts(env);
    const Listing two({"a", "b"}), none({});
    const app::Shares shares = app::count_shares(env.rank < 2 ? two : none, world);
    REQUIRE((shares.all == 2 && shares.smallest == 0));
  });
}

TEST_CASE("the processes of a host share a token, and hosts have different ones", "[slow]") {
  test::run_ranks(4, "token", [](const dist::Env& env) {
    const auto world = on_two_hosts(env);
    const auto tokens =
        dist::gather_number(world.main, static_cast<int64_t>(app::host_token(world)));
    REQUIRE((tokens[0] == tokens[1] && tokens[2] == tokens[3] && tokens[0] != tokens[2]));
  });
}
