#include "dist/health/verify.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <set>

#include "dist/connect.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;

TEST_CASE("the hash depends on every bit, dtype, shape and order, but not on strides") {
  const at::Tensor values = at::arange(37, at::kFloat);
  const uint64_t reference = dist::hash({values});
  CHECK(dist::hash({values.clone()}) == reference);
  std::set<uint64_t> seen = {reference};
  for (int64_t i = 0; i < values.numel(); ++i) {
    at::Tensor changed = values.clone();
    reinterpret_cast<uint32_t*>(changed.mutable_data_ptr<float>())[i] ^= 1u << (i % 32);
    CHECK(seen.insert(dist::hash({changed})).second);
  }
  CHECK(seen.insert(dist::hash({values.to(at::kDouble)})).second);
  CHECK(seen.insert(dist::hash({values.view({37, 1})})).second);
  CHECK(seen.insert(dist::hash({values.slice(0, 0, 20), values.slice(0, 20)})).second);
  CHECK(seen.insert(dist::hash({values.slice(0, 20), values.slice(0, 0, 20)})).second);
  CHECK(seen.insert(dist::hash({})).second);
  CHECK(seen.insert(dist::hash({at::zeros({4})})).second);
  CHECK(seen.insert(dist::hash({at::zeros({5})})).second);

  const at::Tensor image = at::arange(2 * 3 * 4 * 5, at::kFloat).view({2, 3, 4, 5});
  CHECK(dist::hash({image.contiguous(at::MemoryFormat::ChannelsLast)}) == dist::hash({image}));
}

TEST_CASE("equal tensors pass on one and on three ranks") {
  dist::verify_equal(dist::Group(), {at::zeros({3})}, "nothing");
  test::run_ranks(3, "equal", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    dist::verify_equal(world.main, {at::arange(1000, at::kDouble), at::zeros({0})},
                       "the parameters");
    world.shutdown();
  });
}

TEST_CASE("the rank that differs in one bit is named on every rank") {
  test::run_ranks(3, "differ", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    at::Tensor tensor = at::arange(1000, at::kDouble);
    if (env.rank == 2) reinterpret_cast<uint64_t*>(tensor.mutable_data_ptr<double>())[999] ^= 1;
    REQUIRE_THROWS_WITH(dist::verify_equal(world.main, {tensor}, "the parameters"),
                        Contains("the parameters") && Contains("on rank 2"));
    world.shutdown();
  });
}
