#pragma once
// The fused step of a network on the CPU: forward and backward, without LibTorch and autograd. Both
// work in memory that the caller provides (use()). executor.h defines what they compute; results
// differ in rounding. Activations are float32 or bfloat16, everything else is float32.
//
// The operation that reads a convolution's output applies batch norm, activation and the
// squeeze-excite gate while it loads the values. So the only activations in memory are the outputs
// of convolutions, joins (is_join() in plan.h), pooling and linear layers. Results repeat bit for
// bit for a fixed number of threads (ops/fused/fused.h). Not thread-safe.

#include <cstdint>
#include <functional>
#include <vector>

#include "models/network.h"
#include "models/program/plan.h"
#include "ops/fused/fused.h"

namespace shoal::models {

// The buffers of one batch norm layer, as in BatchNormSlot (models/model.h).
struct ProgramStatistics {
  const float *running_mean = nullptr, *running_var = nullptr;
  float* pending = nullptr;
  bool fixed = false;
};

// Inputs of a step. Pointers must stay valid until the end of backward, or of forward if there is
// no backward.
struct ProgramInputs {
  const void* images = nullptr;               // N×H×W×C, in the type of StepShape::storage
  std::vector<const float*> weights;          // as Network::parameters; 4-D ones are channels-last
  std::vector<ProgramStatistics> statistics;  // one per entry of Network::statistics
  // One mask per node. Norms: one value per image. PooledFeatures and Linear: N×channels. nullptr:
  // nothing is dropped.
  std::vector<const float*> masks;
};

class Program {
 public:
  // `network` must outlive the program; fused_obstacle(network) (plan.h) must be empty.
  Program(const Network& network, StepShape shape, int threads);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const StepShape& shape() const { return shape_; }
  int threads() const { return workspace_.threads(); }
  int64_t floats() const { return floats_; }  // size of the memory for use()
  void use(float* memory);                    // 64-byte aligned; the caller owns it

  // Computes logits (N×classes) and updates the pending statistics.
  void forward(const ProgramInputs& inputs, float* logits);
  // Writes the gradients of the trained parameters to `gradients`, in the layout of the weights.
  // The pointers of other parameters must be nullptr. Calls `complete` exactly once with each
  // trained parameter, as soon as its gradient is written. d_logits: N×classes. Call at most once
  // after each forward().
  void backward(const float* d_logits, const std::vector<float*>& gradients,
                const std::function<void(size_t)>& complete);

 private:
  PlannedNode& node(int i) { return plan_.nodes[static_cast<size_t>(i)]; }
  const PlannedNode& node(int i) const { return plan_.nodes[static_cast<size_t>(i)]; }
  template <class T>
  const T& operation(int i) const {
    return std::get<T>(network_.nodes[static_cast<size_t>(i)].operation);
  }
  bool streams(int i) const;
  float* at(Place place) const { return place < 0 || !memory_ ? nullptr : memory_ + place; }
  const ops::fused::Norm* norm_vectors(int i) const {
    return i < 0 ? nullptr : &norms_[static_cast<size_t>(i)];
  }
  const float* weight(int parameter) const {
    return inputs_.weights[static_cast<size_t>(parameter)];
  }
  const float* mask(int i) const { return inputs_.masks[static_cast<size_t>(i)]; }
  bool trained(int parameter) const { return shape_.trained[static_cast<size_t>(parameter)]; }
  // Returns where to write the gradient of a parameter; nullptr if it is not trained. Call only if
  // the current node writes it, because backward() then reports the gradient as complete.
  float* gradient(int parameter);

  void reserve();
  Place take(int64_t floats);
  ops::fused::Squeeze* squeeze_of(int i);
  ops::fused::NormState norm_state(int norm) const;
  ops::fused::Operand operand(int i) const;
  ops::fused::Upstream upstream(int convolution) const;
  ops::fused::Downstream downstream(int i) const;
  void set_window(int i, int64_t height, int64_t width, ops::fused::Window& op) const;
  // These functions return the operation of node i, without packed weights and without the fields
  // that only backward uses.
  ops::fused::Pointwise pointwise(int i);
  ops::fused::Depthwise depthwise(int i) const;
  ops::fused::Dense dense(int i) const;
  ops::fused::Stem stem(int i) const;
  ops::fused::Join join(int i) const;
  ops::fused::MaxPool max_pool(int i) const;
  ops::fused::Pool pool(int i) const;
  ops::fused::Linear linear(int i) const;
  void pack_depthwise(ops::fused::Depthwise& op, int weight) const;
  float* pack_squeeze(const ops::fused::Pointwise& op, int squeeze) const;

  void forward_node(int i, float* logits);
  void forward_convolution(int i);
  void backward_node(int i, const float* d_logits);
  void backward_convolution(int i);
  void backward_dense(int i);
  void backward_norm(int norm);
  void backward_squeeze(int i);
  void forward_linear(int i, float* logits);
  void backward_linear(int i, const float* d_logits);

  const Network& network_;
  const StepShape shape_;
  Plan plan_;
  ops::fused::Workspace workspace_;
  int64_t floats_ = 0;
  float* memory_ = nullptr;
  std::vector<ops::fused::Norm> norms_;        // one per node; used for batch norms
  std::vector<ops::fused::Squeeze> squeezes_;  // one per node; used for squeeze-excite
  std::vector<Place> norm_places_, squeeze_places_;
  Place workspace_place_ = 0, packed_ = 0;
  ProgramInputs inputs_;
  const std::vector<float*>* gradients_ = nullptr;
  std::vector<size_t> written_;  // parameters whose gradients the current node writes
};

}  // namespace shoal::models
