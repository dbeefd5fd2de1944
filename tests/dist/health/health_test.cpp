#include "dist/health/health.h"

#include <ATen/core/Tensor.h>

#include <catch2/catch.hpp>

#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;
using dist::HealthCheck;

namespace {

// Changes the environment so that each rank is a separate host.
dist::Env apart(dist::Env env) {
  env.local_world_size = 1;
  env.local_rank = 0;
  for (int i = 0; i < env.world_size; ++i) env.hosts.push_back("host-" + std::to_string(i));
  return env;
}

}  // namespace

TEST_CASE("healthy hosts pass the check, and the slowest link is reported", "[slow]") {
  for (const int ranks : {2, 3})
    test::run_ranks(ranks, "healthy-" + std::to_string(ranks), [](const dist::Env& env) {
      const auto world = dist::connect(apart(env));
      REQUIRE(dist::check_health(world, HealthCheck::quick).slowest_bytes_per_second > 0);
      REQUIRE(dist::check_health(world, HealthCheck::off).slowest_bytes_per_second == 0);
    });
  CHECK(dist::check_health(dist::Communicator(), HealthCheck::full).slowest_bytes_per_second == 0);
}

TEST_CASE("ranks of one host measure no links") {
  test::run_ranks(2, "one-host", [](const dist::Env& env) {
    const auto world = dist::connect(env);
    REQUIRE(dist::check_health(world, HealthCheck::quick).slowest_bytes_per_second == 0);
  });
}

TEST_CASE("corrupted data is an error on every rank that names the host") {
  test::run_ranks(3, "damaged", [](const dist::Env& env) {
    const auto world = dist::connect(apart(env));
    const auto damage = [&](at::Tensor& data) {
      if (env.rank == 1) data.mutable_data_ptr<int64_t>()[17] ^= 1;
    };
    REQUIRE_THROWS_WITH(dist::check_health(world, HealthCheck::quick, damage),
                        Contains("corrupts data") && Contains("host-1;"));
  });
}
