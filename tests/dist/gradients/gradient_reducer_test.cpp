#include "dist/gradients/gradient_reducer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "dist/connect.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;

namespace {

constexpr int64_t kBatch = 24, kFeatures = 20, kLayers = 6;

// Returns reproducible values without a random generator.
at::Tensor wave(int64_t rows, int64_t columns, double phase, at::ScalarType type) {
  return (at::arange(rows * columns, at::kDouble) * 0.7 + phase)
      .sin()
      .view({rows, columns})
      .to(type);
}

// A small network whose gradients are views into one flat buffer.
struct Network {
  explicit Network(at::ScalarType type)
      : flat(at::zeros({kLayers * (kFeatures * kFeatures + kFeatures)}, type)) {
    int64_t offset = 0;
    const auto add = [&](at::Tensor parameter) {
      parameter.requires_grad_();
      parameter.mutable_grad() = flat.narrow(0, offset, parameter.numel()).view(parameter.sizes());
      offset += parameter.numel();
      parameters.push_back(parameter);
    };
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      add(wave(kFeatures, kFeatures, static_cast<double>(layer), type) / 3);
      add(wave(1, kFeatures, 0.5 + static_cast<double>(layer), type).view({kFeatures}) / 10);
    }
  }

  at::Tensor loss(const at::Tensor& rows) const {  // mean over rows
    at::Tensor x = rows;
    for (size_t i = 0; i < parameters.size(); i += 2)
      x = at::tanh(at::matmul(x, parameters[i]) + parameters[i + 1]);
    return x.pow(2).sum() / rows.size(0);
  }

  at::Tensor flat;
  std::vector<at::Tensor> parameters;
};

// Runs one step of two micro-batches. Each micro-batch consists of one block of rows per rank.
void step(Network& network, dist::GradientReducer& reducer, const at::Tensor& batch, int rank,
          int world) {
  constexpr int kAccumulate = 2;
  const int64_t micro = batch.size(0) / kAccumulate, mine = micro / world;
  for (int m = 0; m < kAccumulate; ++m) {
    reducer.prepare(m == kAccumulate - 1);
    (network.loss(batch.narrow(0, m * micro + rank * mine, mine)) / kAccumulate).backward();
  }
  reducer.finish();
}

dist::ReducerOptions several_ranges() {
  return {.range_bytes = 7000};
}

void check_against_full_batch(const dist::Env& env) {
  dist::Communicator world = dist::connect(env);
  Network network(at::kDouble), whole(at::kDouble);
  dist::GradientReducer reducer(world.main, network.parameters, several_ranges());
  for (int s = 0; s < 4; ++s) {
    const at::Tensor batch = wave(kBatch, kFeatures, s, at::kDouble);
    step(network, reducer, batch, world.rank(), world.size());
    whole.loss(batch).backward();
    const double error = ((network.flat - whole.flat).norm() / whole.flat.norm()).item<double>();
    REQUIRE(whole.flat.norm().item<double>() > 1e-3);
    REQUIRE(error < 1e-13);
    for (const at::Tensor& parameter : network.parameters)  // still views of the flat buffer
      REQUIRE(parameter.grad().storage().data() == network.flat.storage().data());
    network.flat.zero_();
    whole.flat.zero_();
  }
  world.shutdown();
}

}  // namespace

TEST_CASE("one process computes the gradients of the full batch") {
  check_against_full_batch(dist::single_process());
}

TEST_CASE("two, three and four ranks with accumulation compute the gradients of the full batch",
          "[slow]") {
  for (int ranks : {2, 3, 4})
    test::run_ranks(ranks, "full batch " + std::to_string(ranks), check_against_full_batch);
}

TEST_CASE("the first step adds in the same order as every later one") {
  test::run_ranks(3, "first step", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    Network network(at::kFloat);
    dist::GradientReducer reducer(world.main, network.parameters, several_ranges());
    at::Tensor first;
    for (int s = 0; s < 4; ++s) {
      step(network, reducer, wave(kBatch, kFeatures, 0, at::kFloat), world.rank(), world.size());
      if (s == 0) first = network.flat.clone();
      REQUIRE(at::equal(network.flat, first));
      network.flat.zero_();
    }
    world.shutdown();
  });
}

TEST_CASE("a step that was not prepared, or whose backward missed a parameter, is an error") {
  test::run_ranks(2, "misuse", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    Network network(at::kDouble);
    dist::GradientReducer reducer(world.main, network.parameters, several_ranges());
    REQUIRE_THROWS_AS(reducer.finish(), std::logic_error);
    reducer.prepare(true);
    network.parameters[0].sum().backward();
    REQUIRE_THROWS_WITH(reducer.finish(), Contains("did not reach every parameter"));
    world.control.barrier("both ranks have checked");
  });
}

TEST_CASE("ranks with different parameters are an error before training") {
  test::run_ranks(2, "shapes", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    at::Tensor parameter = at::zeros({3 + env.rank}, at::kFloat).requires_grad_();
    parameter.mutable_grad() = at::zeros({3 + env.rank}, at::kFloat);
    REQUIRE_THROWS_AS(dist::GradientReducer(world.main, {parameter}), std::invalid_argument);
    parameter.mutable_grad().reset();
    REQUIRE_THROWS_AS(dist::GradientReducer(world.main, {parameter}), std::invalid_argument);
    world.control.barrier("both ranks have checked");
  });
}

TEST_CASE("gradients that a backward pass writes without autograd are averaged too") {
  test::run_ranks(2, "reported", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    Network network(at::kDouble);
    dist::GradientReducer reducer(world.main, network.parameters, several_ranges());
    reducer.prepare(true);
    network.flat.fill_(env.rank);
    // The ranks report in different orders, and report each parameter twice.
    for (size_t i = 0; i < network.parameters.size(); ++i) {
      const size_t index = env.rank == 0 ? i : network.parameters.size() - 1 - i;
      reducer.complete(index);
      reducer.complete(index);
    }
    reducer.finish();
    REQUIRE(network.flat.min().item<double>() == 0.5);
    REQUIRE(network.flat.max().item<double>() == 0.5);
    world.shutdown();
  });
}

TEST_CASE("in bfloat16, all ranks get the float32 mean of the rounded gradients") {
  for (int ranks : {2, 3, 4}) {
    test::run_ranks(ranks, "bfloat16 " + std::to_string(ranks), [](const dist::Env& env) {
      dist::Communicator world = dist::connect(env);
      // These sizes make two ranges, one range per parameter, and a single range. Three ranks
      // cannot divide a parameter evenly: the last piece is shorter.
      for (const int64_t range_bytes : {int64_t{7000}, int64_t{8}, int64_t{3} << 20}) {
        Network network(at::kFloat);
        dist::GradientReducer reducer(world.main, network.parameters,
                                      {.range_bytes = range_bytes, .bf16 = true});
        for (int s = 0; s < 3; ++s) {
          const auto gradient = [&](int rank) {
            return wave(network.flat.numel(), 1, 10 * s + rank, at::kFloat).view({-1}) *
                   (1 + 100 * rank);
          };
          reducer.prepare(true);
          network.flat.copy_(gradient(env.rank));
          if (s == 2 && env.rank == 1) network.flat[5] = std::nan("");
          for (size_t i = 0; i < network.parameters.size(); ++i) reducer.complete(i);
          reducer.finish();
          std::vector<at::Tensor> rounded;
          for (int rank = 0; rank < world.size(); ++rank)
            rounded.push_back(gradient(rank).to(at::kBFloat16).to(at::kFloat));
          at::Tensor mean = (at::stack(rounded).sum(0) / world.size()).to(at::kBFloat16);
          if (s == 2) {
            REQUIRE(network.flat.isnan().sum().item<int64_t>() == 1);
            network.flat[5] = mean[5];
          }
          REQUIRE(at::equal(network.flat, mean.to(at::kFloat)));
        }
      }
      world.shutdown();
    });
  }
}

TEST_CASE("in bfloat16, gradients stay close to those of the full batch") {
  test::run_ranks(3, "bfloat16 full batch", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    Network network(at::kFloat), whole(at::kFloat);
    dist::GradientReducer reducer(world.main, network.parameters, {.range_bytes = 8, .bf16 = true});
    const at::Tensor batch = wave(kBatch, kFeatures, 0, at::kFloat);
    step(network, reducer, batch, world.rank(), world.size());
    whole.loss(batch).backward();
    const double error = ((network.flat - whole.flat).norm() / whole.flat.norm()).item<double>();
    REQUIRE(error < 1.0 / 128);  // bfloat16 has 8 significant bits
    REQUIRE(error > 0);
    world.shutdown();
  });
}

TEST_CASE("gradients outside the common buffer are refused") {
  test::run_ranks(2, "buffer", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    Network network(at::kDouble);
    network.parameters[1].mutable_grad() = at::zeros({kFeatures}, at::kDouble);
    REQUIRE_THROWS_AS(dist::GradientReducer(world.main, network.parameters), std::invalid_argument);
    world.control.barrier("both ranks have checked");
  });
}

TEST_CASE("after a rank is killed, the others name the operation and the rank") {
  const bool bf16 = GENERATE(false, true);
  const auto results =
      test::run_ranks_and_report(2, "killed in backward", [bf16](const dist::Env& env) {
        dist::Communicator world = dist::connect(env);
        Network network(at::kDouble);
        dist::GradientReducer reducer(world.main, network.parameters,
                                      {.range_bytes = 8, .bf16 = bf16});
        if (env.rank == 1) raise(SIGKILL);
        REQUIRE_THROWS_WITH(
            step(network, reducer, wave(kBatch, kFeatures, 0, at::kDouble), 0, 2),
            Contains("rank 0 of 2: averaging gradients") && Contains("group main failed"));
      });
  INFO(results[0].output);
  CHECK(results[0].exit_code == 0);
  CHECK(results[1].signal == SIGKILL);
}
