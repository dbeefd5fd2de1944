#include "models/program/plan.h"

#include <algorithm>

#include "ops/fused/kernels.h"

namespace shoal::models {
namespace {

// A buffer that is in use from time `begin` to time `end`, inclusive. Node i runs forward at time i
// and backward at backward_time(i). place() writes the buffer's offset to all `users`.
struct Buffer {
  int64_t floats;
  int begin, end;
  std::vector<Place*> users;
};

// Places buffers in memory, the largest first, each at the lowest offset that is free during the
// buffer's whole lifetime. Returns the size of the memory in floats.
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
  // Returns the size of a node's output in floats. The outputs of average pooling and linear layers
  // are float32 even if activations are bfloat16.
  int64_t floats(int i) {
    const PlannedNode& p = at(i);
    const int64_t numbers = shape_.images * p.height * p.width * ops::fused::padded(p.channels);
    if (p.kernel == KernelKind::pool) return numbers;
    if (p.kernel == KernelKind::linear) return 2 * numbers;  // with the activation's slopes
    return ops::fused::padded(numbers * size_of(shape_.storage) / int64_t{sizeof(float)});
  }

  // Sets the fields of node i, except its places in memory.
  void describe(int i) {
    const Node& node = n_.nodes[static_cast<size_t>(i)];
    PlannedNode& p = at(i);
    const int from = input(i);
    p.channels = node.out.channels;
    p.height = from == kImages ? shape_.height : at(from).height;
    p.width = from == kImages ? shape_.width : at(from).width;
    p.differentiates = from != kImages && at(from).differentiates;
    if (const auto* c = operation_at<Convolution>(n_, i)) {
      p.kernel = kernel_of(n_, i);
      p.height = ops::fused::chunks(p.height, c->stride);
      p.width = ops::fused::chunks(p.width, c->stride);
      p.differentiates |= trained(c->weight);
      read(i, from);
    } else if (const auto* norm = operation_at<Norm>(n_, i)) {
      at(from).next_norm = i;
      p.stored = is_join(n_, i);
      p.kernel = p.stored ? KernelKind::join : KernelKind::none;
      p.source = from;
      p.differentiates |= trained(norm->weight) || trained(norm->weight + 1);
      if (node.inputs.size() > 1) p.skip = node.inputs[1];
      if (p.skip >= 0) p.differentiates |= at(p.skip).differentiates;
    } else if (const auto* s = operation_at<SqueezeExcite>(n_, i)) {
      at(input(from)).next_squeeze = i;
      for (int k = 0; k < 4; ++k) p.differentiates |= trained(s->weight + k);
      at(from).differentiates |= p.differentiates;  // one backward kernel for both nodes
    } else if (const auto* pool = operation_at<MaxPool>(n_, i)) {
      p.kernel = KernelKind::max_pool;
      p.stored = true;
      p.height = pooled_size(*pool, p.height);
      p.width = pooled_size(*pool, p.width);
      read(i, from);
    } else if (operation_at<PooledFeatures>(n_, i)) {
      p.kernel = KernelKind::pool;
      p.height = p.width = 1;
      if (!at(from).stored) at(input(from)).next_pool = i;
      read(i, from);
    } else if (const auto* l = operation_at<Linear>(n_, i)) {
      p.kernel = KernelKind::linear;
      p.height = p.width = 1;
      p.differentiates |= trained(l->weight) || trained(l->weight + 1);
      p.source = from;
    }
  }

  // Sets `source`, `norm` and `squeeze` of node i, whose input is node `from`.
  void read(int i, int from) {
    PlannedNode& p = at(i);
    if (operation_at<SqueezeExcite>(n_, from)) {
      p.squeeze = from;
      from = input(from);
    }
    if (from != kImages && !at(from).stored) {
      p.norm = from;
      from = input(from);
    }
    p.source = from;
  }

  // Adds the buffer for the output of node i. The buffer is in use until node i and all nodes that
  // read the output are done. A node that runs backward is done after backward, any other node
  // after forward.
  void add_output(int i) {
    PlannedNode& p = at(i);
    if (p.kernel == KernelKind::none) return;
    int end = p.differentiates ? backward_time(i) : i;
    for (int reader = i + 1; reader < count_; ++reader) {
      const PlannedNode& r = at(reader);
      if (r.source == i || r.skip == i)
        end = std::max(end, r.differentiates ? backward_time(reader) : reader);
    }
    buffers_.push_back({floats(i), i, end, {&p.output}});
  }

  // Adds the buffer for the gradient of node i. A batch norm's buffer is in use from backward of
  // the last node that reads the norm's output to backward of the convolution before the norm.
  // A join passes its gradient unchanged to its second input (`skip`), which may also be a join
  // with a `skip`. So all nodes of such a chain share one buffer. It is in use until the first
  // inputs of all these nodes have run backward.
  void add_gradient(int i) {
    PlannedNode& p = at(i);
    if (!p.differentiates || p.gradient == kShared) return;
    const bool pools = p.kernel == KernelKind::pool;
    const bool norm = operation_at<Norm>(n_, i) != nullptr;
    if (!pools && p.kernel != KernelKind::linear && p.kernel != KernelKind::max_pool && !norm)
      return;
    if (norm && at(input(i)).next_pool >= 0) return;  // backward uses the pooling's gradient
    int begin = backward_time(i), end = backward_time(pools ? p.source : input(i));
    for (int reader = i + 1; reader < count_; ++reader)
      if (at(reader).source == i || at(reader).skip == i || at(reader).norm == i)
        begin = std::min(begin, backward_time(reader));
    Buffer buffer{floats(i), begin, end, {&p.gradient}};
    for (int s = p.skip; s >= 0 && at(s).differentiates; s = at(s).skip) {
      buffer.users.push_back(&at(s).gradient);
      at(s).gradient = kShared;
      buffer.end = std::max(buffer.end, backward_time(input(s)));
    }
    buffers_.push_back(std::move(buffer));
  }

  static constexpr Place kShared = -2;  // marks gradients in a join's buffer until place() runs

  const Network& n_;
  const StepShape& shape_;
  int count_;
  Plan plan_;
  std::vector<Buffer> buffers_;
};

}  // namespace

Plan plan_step(const Network& network, const StepShape& shape) {
  return Planner(network, shape).make();
}

int64_t zeros_before(const Convolution& c, int64_t size) {
  if (c.padding == Padding::symmetric) return (c.kernel - 1) / 2;
  return same_padding(c.kernel, c.stride, size) / 2;
}

}  // namespace shoal::models
