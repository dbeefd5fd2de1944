#include "train/job/optimizer_options.h"

#include <catch2/catch.hpp>
#include <tuple>

namespace {

using shoal::train::OptimizerOptions;
using Kind = OptimizerOptions::Kind;

}  // namespace

TEST_CASE("eps depends on the optimizer unless it is set") {
  OptimizerOptions options;
  options.kind = Kind::rmsprop;
  CHECK(resolved_eps(options) == 1e-3);
  options.kind = Kind::adamw;
  CHECK(resolved_eps(options) == 1e-8);
  options.kind = Kind::lamb;
  CHECK(resolved_eps(options) == 1e-6);
  options.eps = 1e-6;
  CHECK(resolved_eps(options) == 1e-6);
}

TEST_CASE("without momentum, SGD has no state and RMSprop has one buffer") {
  OptimizerOptions options;
  for (const auto& [kind, with, without] : {std::tuple{Kind::sgd, 1, 0},
                                            {Kind::rmsprop, 2, 1},
                                            {Kind::adamw, 2, 2},
                                            {Kind::adam, 2, 2},
                                            {Kind::lamb, 2, 2}}) {
    options.kind = kind;
    options.momentum = 0.9;
    CHECK(state_buffers(options) == with);
    options.momentum = 0;
    CHECK(state_buffers(options) == without);
  }
}
