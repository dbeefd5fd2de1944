#include "train/step/optimizer_options.h"

#include <cmath>
#include <stdexcept>

#include "train/run/require.h"

namespace shoal::train {
namespace {

bool is_share(double value) {
  return value >= 0 && value < 1;
}

}  // namespace

double resolved_eps(const OptimizerOptions& options) {
  return options.eps.value_or(options.kind == OptimizerOptions::Kind::rmsprop ? 1e-3 : 1e-8);
}

void validate(const OptimizerOptions& options) {
  require_valid(is_share(options.momentum), "--momentum must be 0 or more and below 1");
  require_valid(
      !options.nesterov || options.kind != OptimizerOptions::Kind::sgd || options.momentum > 0,
      "--nesterov needs a --momentum above 0");
  require_valid(options.weight_decay >= 0 && std::isfinite(options.weight_decay),
                "--weight-decay must be 0 or more");
  require_valid(is_share(options.alpha), "--alpha must be 0 or more and below 1");
  require_valid(is_share(options.beta1), "--beta1 must be 0 or more and below 1");
  require_valid(is_share(options.beta2), "--beta2 must be 0 or more and below 1");
  require_valid(resolved_eps(options) > 0, "--eps must be above 0");
  require_valid(options.clip >= 0 && std::isfinite(options.clip), "--clip must be 0 (off) or more");
}

void validate(const EmaOptions& options) {
  require_valid(is_share(options.decay), "--ema must be 0 (off) or more and below 1");
}

std::string to_string(OptimizerOptions::Kind kind) {
  switch (kind) {
    case OptimizerOptions::Kind::sgd:
      return "sgd";
    case OptimizerOptions::Kind::rmsprop:
      return "rmsprop";
    case OptimizerOptions::Kind::adamw:
      return "adamw";
  }
  throw std::invalid_argument("unknown kind of optimizer");
}

}  // namespace shoal::train
