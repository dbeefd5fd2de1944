#include "train/job/optimizer_options.h"

#include <catch2/catch.hpp>

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
  options.eps = 1e-6;
  CHECK(resolved_eps(options) == 1e-6);
}
