#include "dist/group.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/BFloat16.h>
#include <signal.h>

#include <catch2/catch.hpp>

#include "base/now.h"
#include "dist/connect.h"
#include "dist/gather.h"
#include "dist/sum_across_ranks.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;

namespace {

// Checks all collectives, on every rank of a world of any size.
void check_collectives(const dist::Env& env) {
  dist::Communicator world = dist::connect(env);
  REQUIRE(world.main.rank() == env.rank);
  REQUIRE(world.main.size() == env.world_size);
  const int n = world.size(), r = world.rank();
  const int64_t sum_of_ranks = n * (n - 1) / 2;

  for (const auto type : {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kBFloat16, at::kHalf}) {
    at::Tensor tensor = at::full({5, 3}, r, type);
    world.main.all_reduce_sum(tensor);
    REQUIRE(at::equal(tensor, at::full({5, 3}, sum_of_ranks, type)));
  }

  for (int root = 0; root < n; ++root) {
    at::Tensor tensor = at::full({7}, r * 10, at::kDouble);
    world.main.broadcast(tensor, root);
    REQUIRE(at::equal(tensor, at::full({7}, root * 10, at::kDouble)));
  }

  const std::vector<at::Tensor> all = world.main.all_gather(at::full({2}, r + 1, at::kLong));
  REQUIRE(all.size() == static_cast<size_t>(n));
  for (int rank = 0; rank < n; ++rank)
    REQUIRE(at::equal(all[static_cast<size_t>(rank)], at::full({2}, rank + 1, at::kLong)));

  REQUIRE(dist::gather_number(world.main, 3 * r).back() == 3 * (n - 1));
  REQUIRE(dist::sum_numbers(world.main, r) == sum_of_ranks);
  // Texts of different lengths, with zero bytes.
  const auto texts = dist::gather_text(world.main, std::string(static_cast<size_t>(100 * r), '\0'));
  REQUIRE(texts.size() == static_cast<size_t>(n));
  for (int rank = 0; rank < n; ++rank)
    REQUIRE(texts[static_cast<size_t>(rank)].size() == static_cast<size_t>(100 * rank));

  // Strided and transposed tensors are changed in place.
  at::Tensor base = at::zeros({4, 6}, at::kFloat);
  at::Tensor column = base.select(1, 2);
  column.fill_(1);
  world.main.all_reduce_sum(column);
  REQUIRE(base.sum().item<float>() == Approx(4 * n));
  at::Tensor turned = at::arange(6, at::kFloat).view({2, 3}).t();
  world.main.all_reduce_sum(turned);
  REQUIRE(at::equal(turned, at::arange(6, at::kFloat).view({2, 3}).t() * n));

  // A parameter that requires a gradient can be broadcast.
  at::Tensor parameter = at::full({3}, r, at::kFloat).requires_grad_();
  world.main.broadcast(parameter, n - 1);
  REQUIRE(at::equal(parameter, at::full({3}, n - 1, at::kFloat)));

  REQUIRE_FALSE(world.batch_norm.state());
  world.open_batch_norm();
  const auto sum = dist::sum_across_ranks(world.batch_norm);
  REQUIRE(static_cast<bool>(sum) == (n > 1));
  if (sum) {
    at::Tensor tensor = at::full({9}, 1.5, at::kDouble);
    sum(tensor);
    REQUIRE(at::equal(tensor, at::full({9}, 1.5 * n, at::kDouble)));
  }
  world.control.barrier("test");
  world.shutdown();
}

}  // namespace

TEST_CASE("collectives of one process are the identity") {
  check_collectives(dist::single_process());
}

TEST_CASE("collectives work with two, three and four processes", "[slow]") {
  for (int ranks : {2, 3, 4})
    test::run_ranks(ranks, "collectives of " + std::to_string(ranks), check_collectives);
}

TEST_CASE("a broadcast from a rank that does not exist is an error") {
  at::Tensor tensor = at::zeros({1}, at::kFloat);
  CHECK_THROWS_AS(dist::Group().broadcast(tensor, 1), std::invalid_argument);
}

TEST_CASE(
    "after a rank is killed, the next collective on the others names the operation and the rank") {
  const auto results = test::run_ranks_and_report(3, "killed", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    at::Tensor tensor = at::full({1000}, 1, at::kFloat);
    world.main.all_reduce_sum(tensor);
    if (env.rank == 1) raise(SIGKILL);
    const double start = now();
    const auto name =
        "rank " + std::to_string(env.rank) + " of 3: all_reduce_sum in group main failed";
    REQUIRE_THROWS_WITH(world.main.all_reduce_sum(tensor), Contains(name));
    REQUIRE(now() - start < 60);  // far below the timeout of 1800 s
  });
  INFO(results[0].output << results[2].output);
  CHECK(results[0].exit_code == 0);
  CHECK(results[1].signal == SIGKILL);
  CHECK(results[2].exit_code == 0);
}

TEST_CASE("a collective that one rank never calls ends at the timeout", "[slow]") {
  test::run_ranks(2, "absent", [](const dist::Env& env) {
    dist::ConnectOptions options;
    options.timeout = std::chrono::milliseconds(500);
    dist::Communicator world = dist::connect(env, options);
    world.open_batch_norm();
    if (env.rank == 0) {
      at::Tensor tensor = at::zeros({1}, at::kFloat);
      REQUIRE_THROWS_WITH(world.main.all_reduce_sum(tensor),
                          Contains("rank 0 of 2: all_reduce_sum") && Contains("imed out"));
      REQUIRE_THROWS_WITH(world.control.barrier("the test's end"),
                          Contains("barrier 'the test's end'") && Contains("1"));
    } else {
      // Keeps this rank alive through both timeouts of rank 0.
      REQUIRE_THROWS(world.batch_norm.barrier("rank 0 leaves"));
      REQUIRE_THROWS(world.batch_norm.barrier("rank 0 leaves"));
    }
  });
}
