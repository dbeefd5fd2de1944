#include "train/step/optimizer_options.h"

#include <catch2/catch.hpp>

namespace {

using shoal::train::EmaOptions;
using shoal::train::OptimizerOptions;
using Kind = OptimizerOptions::Kind;

}  // namespace

TEST_CASE("eps follows the optimizer unless it is given") {
  OptimizerOptions options;
  options.kind = Kind::rmsprop;
  CHECK(resolved_eps(options) == 1e-3);
  options.kind = Kind::adamw;
  CHECK(resolved_eps(options) == 1e-8);
  options.eps = 1e-6;
  CHECK(resolved_eps(options) == 1e-6);
}

TEST_CASE("impossible optimizer settings are refused by name") {
  OptimizerOptions options;
  CHECK_NOTHROW(validate(options));
  options.momentum = 1;
  CHECK_THROWS_WITH(validate(options), Catch::Contains("momentum"));
  options = {};
  options.momentum = 0;
  options.nesterov = true;
  CHECK_THROWS_WITH(validate(options), Catch::Contains("nesterov"));
  options = {};
  options.clip = -1;
  CHECK_THROWS_WITH(validate(options), Catch::Contains("clip"));
  options = {};
  options.eps = 0;
  CHECK_THROWS_WITH(validate(options), Catch::Contains("eps"));
  CHECK_THROWS_WITH(validate(EmaOptions{1.0, false}), Catch::Contains("--ema"));
}
