#include "models/program/plan.h"

#include <algorithm>

#include "ops/fused/kernels.h"

namespace shoal::models {
namespace {

template <class T>
const T* operation(const Network& network, int node) {
  return node < 0 ? nullptr : std::get_if<T>(&network.nodes[static_cast<size_t>(node)].operation);
}

// The nodes that read the output of each node.
std::vector<std::vector<int>> readers_of(const Network& network) {
  std::vector<std::vector<int>> readers(network.nodes.size());
  for (size_t i = 0; i < network.nodes.size(); ++i)
    for (int input : network.nodes[i].inputs)
      if (input != kImages) readers[static_cast<size_t>(input)].push_back(static_cast<int>(i));
  return readers;
}

bool is_join(const Norm& norm) {
  return norm.activation == ops::Activation::none;
}

// Returns the step of a convolution; none: there is no kernel for it.
Step step_of(const Network& network, const Node& node, const Convolution& c) {
  const auto& shape = network.parameters[static_cast<size_t>(c.weight)].shape;
  if (node.inputs[0] == kImages) return c.groups == 1 ? Step::stem : Step::none;
  if (c.kernel == 1 && c.stride == 1 && c.groups == 1) return Step::pointwise;
  const bool depthwise = c.groups == shape[0] && shape[1] == 1;
  const bool size = (c.kernel == 3 || c.kernel == 5) && (c.stride == 1 || c.stride == 2);
  return depthwise && size ? Step::depthwise : Step::none;
}

// Checks one node against what the kernels can read and write.
class Check {
 public:
  explicit Check(const Network& network) : n_(network), readers_(readers_of(network)) {}

  bool supported(int i) const {
    const Node& node = n_.nodes[static_cast<size_t>(i)];
    const int input = node.inputs[0];
    if (const auto* c = operation<Convolution>(n_, i)) {
      return step_of(n_, node, *c) != Step::none &&
             readable(input, /*by_pointwise=*/c->kernel == 1) && only_reader<Norm>(i);
    }
    if (const auto* norm = operation<Norm>(n_, i)) {
      if (!operation<Convolution>(n_, input)) return false;
      if (!is_join(*norm)) return node.inputs.size() == 1 && readers(i).size() == 1;
      return convolutions_reading(i) == 1 &&
             (node.inputs.size() == 1 || ends_in(node.inputs[1], i));
    }
    if (operation<SqueezeExcite>(n_, i)) {
      const bool read = readers(i).size() == 1 && operation<Convolution>(n_, readers(i)[0]) &&
                        operation<Convolution>(n_, readers(i)[0])->kernel == 1;
      return deferred(input) && read;
    }
    if (operation<PooledFeatures>(n_, i)) return deferred(input) && only_reader<Linear>(i);
    if (operation<Linear>(n_, i)) return operation<PooledFeatures>(n_, input) && readers(i).empty();
    return false;
  }

 private:
  const std::vector<int>& readers(int i) const { return readers_[static_cast<size_t>(i)]; }
  template <class T>
  bool only_reader(int i) const {
    return readers(i).size() == 1 && operation<T>(n_, readers(i)[0]);
  }
  int64_t convolutions_reading(int i) const {
    return std::count_if(readers(i).begin(), readers(i).end(),
                         [&](int reader) { return operation<Convolution>(n_, reader); });
  }
  bool deferred(int i) const {
    const auto* norm = operation<Norm>(n_, i);
    return norm && !is_join(*norm);
  }
  bool readable(int i, bool by_pointwise) const {
    return i == kImages || operation<Norm>(n_, i) ||
           (by_pointwise && operation<SqueezeExcite>(n_, i));
  }
  // Whether a join with this node as its second input is the last reader of a join. Its gradient
  // then starts as the later join's.
  bool ends_in(int node, int join) const {
    const auto* norm = operation<Norm>(n_, node);
    return norm && is_join(*norm) && readers(node).back() == join;
  }

  const Network& n_;
  std::vector<std::vector<int>> readers_;
};

// A buffer and the first and the last moment at which it is in use.
struct Buffer {
  int64_t floats;
  int begin, end;
  std::vector<Place*> users;
};

// Places buffers in memory, the largest first, each at the lowest address that is free for as long
// as it is in use. Returns the size of the memory.
int64_t place(std::vector<Buffer>& buffers) {
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer& a, const Buffer& b) { return a.floats > b.floats; });
  int64_t size = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j = 0; j < i; ++j)
      if (buffers[j].begin <= b.end && b.begin <= buffers[j].end)
        taken.emplace_back(*buffers[j].users[0], buffers[j].floats);
    std::sort(taken.begin(), taken.end());
    Place at = 0;
    for (const auto& [begin, floats] : taken) {
      if (begin >= at + b.floats) break;
      at = std::max(at, begin + floats);
    }
    for (Place* user : b.users) *user = at;
    size = std::max(size, at + b.floats);
  }
  return size;
}

class Planner {
 public:
  Planner(const Network& network, const StepShape& shape)
      : n_(network), shape_(shape), count_(static_cast<int>(network.nodes.size())) {
    plan_.nodes.resize(network.nodes.size());
  }

  Plan make() {
    for (int i = 0; i < count_; ++i) describe(i);
    for (int i = 0; i < count_; ++i) add_output(i);
    for (int i = count_; i-- > 0;) add_gradient(i);
    plan_.floats = place(buffers_);
    return std::move(plan_);
  }

 private:
  PlannedNode& at(int i) { return plan_.nodes[static_cast<size_t>(i)]; }
  int input(int i) const { return n_.nodes[static_cast<size_t>(i)].inputs[0]; }
  bool trained(int parameter) const { return shape_.trained[static_cast<size_t>(parameter)]; }
  int backward_time(int i) const { return 2 * count_ - 1 - i; }
  int64_t floats(int i) {
    const PlannedNode& p = at(i);
    return shape_.images * p.height * p.width * ops::fused::padded(p.channels);
  }

  // Fills in what does not depend on memory.
  void describe(int i) {
    const Node& node = n_.nodes[static_cast<size_t>(i)];
    PlannedNode& p = at(i);
    const int from = input(i);
    p.channels = node.out.channels;
    p.height = from == kImages ? shape_.height : at(from).height;
    p.width = from == kImages ? shape_.width : at(from).width;
    p.differentiates = from != kImages && at(from).differentiates;
    if (const auto* c = operation<Convolution>(n_, i)) {
      p.step = step_of(n_, node, *c);
      p.height = ops::fused::chunks(p.height, c->stride);
      p.width = ops::fused::chunks(p.width, c->stride);
      p.differentiates |= trained(c->weight);
      read(i, from);
    } else if (const auto* norm = operation<Norm>(n_, i)) {
      at(from).next_norm = i;
      p.joins = is_join(*norm);
      p.step = p.joins ? Step::join : Step::none;
      p.source = from;
      p.differentiates |= trained(norm->weight) || trained(norm->weight + 1);
      if (node.inputs.size() > 1) p.skip = node.inputs[1];
      if (p.skip >= 0) p.differentiates |= at(p.skip).differentiates;
    } else if (const auto* s = operation<SqueezeExcite>(n_, i)) {
      at(input(from)).next_squeeze = i;
      for (int k = 0; k < 4; ++k) p.differentiates |= trained(s->weight + k);
    } else if (operation<PooledFeatures>(n_, i)) {
      p.step = Step::pool;
      p.height = p.width = 1;
      at(input(from)).next_pool = i;
      read(i, from);
    } else if (const auto* l = operation<Linear>(n_, i)) {
      p.step = Step::linear;
      p.differentiates |= trained(l->weight) || trained(l->weight + 1);
      p.source = from;
    }
  }

  // Finds what node i reads and applies.
  void read(int i, int from) {
    PlannedNode& p = at(i);
    if (operation<SqueezeExcite>(n_, from)) {
      p.squeeze = from;
      from = input(from);
    }
    if (from != kImages && !at(from).joins) {
      p.norm = from;
      from = input(from);
    }
    p.source = from;
  }

  // The output of a convolution or join is in use until its last reader.
  void add_output(int i) {
    PlannedNode& p = at(i);
    if (p.step == Step::none || p.step == Step::linear) return;
    int end = p.differentiates ? backward_time(i) : i;
    for (int reader = i + 1; reader < count_; ++reader) {
      const PlannedNode& r = at(reader);
      if (r.source == i || r.skip == i)
        end = std::max(end, r.differentiates ? backward_time(reader) : reader);
    }
    buffers_.push_back({floats(i), i, end, {&p.output}});
  }

  // The gradient of a norm is in use from its last reader's backward to that of the convolution
  // before it. A join shares it with its second input.
  void add_gradient(int i) {
    PlannedNode& p = at(i);
    if (!operation<Norm>(n_, i) || !p.differentiates || p.gradient == kShared) return;
    const bool pooled = at(input(i)).next_pool >= 0;  // its u is 0
    if (pooled) return;
    int begin = backward_time(i), end = backward_time(input(i));
    for (int reader = i + 1; reader < count_; ++reader)
      if ((p.joins && (at(reader).source == i || at(reader).skip == i)) || at(reader).norm == i)
        begin = std::min(begin, backward_time(reader));
    Buffer buffer{floats(i), begin, end, {&p.gradient}};
    for (int s = p.skip; s >= 0 && at(s).differentiates; s = at(s).skip) {
      buffer.users.push_back(&at(s).gradient);
      at(s).gradient = kShared;
      buffer.end = backward_time(input(s));
    }
    buffers_.push_back(std::move(buffer));
  }

  static constexpr Place kShared = -2;

  const Network& n_;
  const StepShape& shape_;
  int count_;
  Plan plan_;
  std::vector<Buffer> buffers_;
};

}  // namespace

std::string fused_obstacle(const Network& network) {
  const Check check(network);
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    if (check.supported(static_cast<int>(i))) continue;
    const Node& node = network.nodes[i];
    const std::string name = node.name.empty() ? "" : "'" + node.name + "' ";
    return "there is no fused kernel for " + name + "(" + describe(node.operation) + ")";
  }
  return "";
}

Plan plan_step(const Network& network, const StepShape& shape) {
  return Planner(network, shape).make();
}

int64_t zeros_before(const Convolution& c, int64_t size) {
  if (c.padding == Padding::symmetric) return (c.kernel - 1) / 2;
  const int64_t outputs = ops::fused::chunks(size, c.stride);
  return std::max<int64_t>((outputs - 1) * c.stride + c.kernel - size, 0) / 2;
}

}  // namespace shoal::models
