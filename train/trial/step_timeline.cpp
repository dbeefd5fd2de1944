#include "train/trial/step_timeline.h"

#include <algorithm>

#include "dist/gradients/gradient_ranges.h"

namespace shoal::train {
namespace {

// Writing an output element once and reading it several times takes about as long as this many
// multiply-adds.
constexpr double kWorkPerOutput = 32;
constexpr auto kNumberBytes = static_cast<int64_t>(sizeof(float));

// Returns the ranges of gradients that GradientReducer averages. `backward`: duration in seconds.
std::vector<dist::StepTimeline::Range> ranges_of(const models::Network& network, double backward,
                                                 bool nccl) {
  std::vector<double> ready(network.nodes.size());  // by node: work until its gradients are ready
  double done = 0;
  for (size_t i = network.nodes.size(); i-- > 0;) {
    const models::Shape& out = network.nodes[i].out;
    done += network.nodes[i].multiply_adds +
            kWorkPerOutput * static_cast<double>(out.channels * out.height * out.width);
    ready[i] = done;
  }
  std::vector<dist::GradientPlace> places;
  for (const models::Parameter& parameter : network.parameters) {
    const int64_t begin = places.empty() ? 0 : places.back().end;
    places.push_back({begin, begin + kNumberBytes * parameter.elements()});
  }
  const std::vector<size_t> nodes = models::nodes_of_parameters(network);
  std::vector<dist::StepTimeline::Range> ranges;
  size_t end = places.size();
  const int64_t least = dist::least_range_bytes(places.back().end, nccl);
  for (const size_t first : dist::range_starts(places, least)) {
    double last = 0;
    for (size_t i = first; i < end; ++i) last = std::max(last, ready[nodes[i]]);
    ranges.push_back({backward * last / done, places[end - 1].end - places[first].begin});
    end = first;
  }
  return ranges;
}

}  // namespace

dist::StepTimeline step_timeline(const models::Network& network, double seconds,
                                 const StepSeconds* phases, bool nccl) {
  dist::StepTimeline step;
  step.backward = seconds * 2 / 3;
  if (phases) {
    const double all = phases->sum();
    step.backward = seconds * phases->backward / all;
    step.after_backward = seconds * phases->update / all;
  }
  step.before_backward = seconds - step.backward - step.after_backward;
  step.ranges = ranges_of(network, step.backward, nccl);
  for (const models::Statistics& statistics : network.statistics)
    step.bytes_after_backward += 2 * statistics.channels * kNumberBytes;
  return step;
}

}  // namespace shoal::train
