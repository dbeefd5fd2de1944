#include "train/trial/step_timeline.h"

#include <catch2/catch.hpp>

#include "dist/gradients/gradient_ranges.h"
#include "models/catalogue.h"

using namespace shoal;

namespace {

models::Network network_of(const std::string& name) {
  models::ModelOptions options;
  options.name = name;
  return models::make_network(options);
}

}  // namespace

TEST_CASE("every network's parameters belong to nodes, the classifier's to the last one") {
  for (const std::string& name : models::names()) {
    INFO(name);
    const models::Network network = network_of(name);
    const std::vector<size_t> nodes = models::nodes_of_parameters(network);
    REQUIRE(nodes.size() == network.parameters.size());
    int64_t elements = 0;
    for (const models::Parameter& parameter : network.parameters) elements += parameter.elements();
    CHECK(elements == network.info.parameters);
    CHECK(nodes.back() == network.nodes.size() - 1);
    CHECK(nodes.front() == 0);
  }
}

TEST_CASE("the ranges of a step become ready in order, the last one at the end of backward") {
  const bool nccl = GENERATE(false, true);
  for (const std::string name : {"efficientnet_b0", "resnet50"}) {
    const models::Network network = network_of(name);
    const int64_t least = dist::least_range_bytes(4 * network.info.parameters, nccl);
    const train::StepSeconds phases{.input = 1, .forward = 2, .backward = 6, .update = 1};
    const dist::StepTimeline step = train::step_timeline(network, 100, &phases, nccl);
    CHECK(step.before_backward == Approx(30));
    CHECK(step.backward == Approx(60));
    CHECK(step.after_backward == Approx(10));
    CHECK(step.seconds() == Approx(100));
    CHECK(step.bytes_after_backward > 0);
    int64_t bytes = 0;
    double ready = 0;
    for (const auto& range : step.ranges) {
      CHECK(range.ready_after >= ready);
      ready = range.ready_after, bytes += range.bytes;
      if (&range != &step.ranges.back()) CHECK(range.bytes >= least);
    }
    CHECK(step.ranges.front().ready_after > 0);
    CHECK(step.ranges.front().ready_after < 30);
    CHECK(ready == Approx(60));
    CHECK(bytes == 4 * network.info.parameters);
  }
}

TEST_CASE("without measured phases, two thirds of a step are backward") {
  const dist::StepTimeline step =
      train::step_timeline(network_of("resnet18"), 3, nullptr, /*nccl=*/false);
  CHECK(step.before_backward == Approx(1));
  CHECK(step.backward == Approx(2));
  CHECK(step.after_backward == 0);
}
