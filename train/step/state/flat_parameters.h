#pragma once
// All parameters of a model in one contiguous buffer, and their gradients in another one with the
// same layout.
//
// The optimizer, moving average, clipping, zeroing, broadcast and the check that all ranks have
// equal parameters are single passes over these buffers. The model's tensors become views into
// them: 4-D weights with channels-last strides, others contiguous. Every parameter starts at a
// multiple of 16 elements. The gaps between parameters are zero in these buffers and stay zero. Not
// thread-safe; use FlatParameters from the training thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "ops/ops.h"

namespace shoal::train {

// Alignment of each tensor in a flat buffer, in elements. For float this is 64 bytes.
inline constexpr int64_t kFlatAlignment = 16;

struct FlatOptions {
  at::ScalarType type = at::kFloat;  // float, or double for exact comparisons
  // kBFloat16: layers compute with a copy of this type. Unset: no copy.
  std::optional<at::ScalarType> copy_type = std::nullopt;
  double weight_decay = 0;   // applies only to parameters with models::Traits::decays
  double layer_decay = 1;    // multiplies the learning rate once per block towards the input
  double head_lr_scale = 1;  // multiplies the learning rate of the classifier
  at::Device device = at::kCPU;
};

// Copies a tensor of any strides and device to the contiguous CPU tensor `copy`. If `copy` is
// undefined, makes it. Otherwise, it must have the tensor's shape and dtype.
void copy_to_cpu(const at::Tensor& tensor, at::Tensor& copy);

class FlatParameters {
 public:
  // Copies the parameters of `model` into new buffers, with the dtype and device of `options`.
  // Makes the model's parameters views of these buffers, and their gradients views of the gradient
  // buffer. Create this object before the gradient reducer. `model` must outlive it. The model's
  // tensors stay valid after this object is destroyed, because the views share ownership of the
  // memory.
  FlatParameters(models::Classifier& model, const FlatOptions& options);
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  // All parameters in layer order. The tensors are the model's own; their grad() is set.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  const std::vector<ops::Segment>& segments() const { return segments_; }

  // The buffers: 1-D with total() elements. copies() is undefined if there is no copy_type.
  const at::Tensor& flat() const { return flat_; }
  const at::Tensor& gradients() const { return gradients_; }
  const at::Tensor& copies() const { return copies_; }
  int64_t total() const { return flat_.numel(); }  // including padding

  // Trains only the parameters whose entry in `trained` is true. The others need no gradients, and
  // the optimizer leaves them as they are. Zeroes the gradients. Initially all parameters are
  // trained. `steps`: number of steps so far. If a parameter is trained for the first time, `steps`
  // becomes its ops::Segment::first_step, so the bias corrections of Adam, AdamW and LAMB count
  // only later steps. Until then, its first_step is -1.
  void train_only(const std::vector<bool>& trained, int64_t steps);
  // Restores Segment::first_step of a parameter. Call train_only() afterwards.
  void set_first_step(size_t index, int64_t step);
  // Returns the trained parameters in layer order.
  std::vector<at::Tensor> trained_tensors() const;
  const std::vector<models::Traits>& traits() const { return traits_; }

  // Arguments for the operations of ops/: their table, the element type, the device's current
  // stream (nullptr on the CPU), and the segments of the trained parameters in device memory, owned
  // by this object.
  const ops::Table& table() const { return *table_; }
  ops::Type type() const;
  void* stream() const;
  const ops::Segment* device_segments() const;
  int64_t device_segment_count() const;

  // Sets all gradients to zero with one memset. Use it instead of zero_grad().
  void zero_gradients();
  // Updates the low-precision copies, if there are any. Call it after changing parameters by other
  // means than the optimizer.
  void refresh_copies();

  // Returns the slice of `flat_buffer` that belongs to parameter `index`, as a view with the
  // parameter's shape. `flat_buffer`: optimizer state or averages, in the layout of flat();
  // undefined: flat().
  at::Tensor view(size_t index, const at::Tensor& flat_buffer) const;
  // Returns a contiguous (row-major), detached CPU copy of a parameter's slice of `flat_buffer`, or
  // of the parameter itself if `flat_buffer` is undefined. Throws std::out_of_range for an unknown
  // name.
  at::Tensor contiguous_copy(const std::string& name, const at::Tensor& flat_buffer = {}) const;
  // Overwrites one parameter (or its slice of `flat_buffer`) with a tensor of the same shape and
  // any dtype, strides and device. If the shape differs, throws std::runtime_error that names the
  // parameter and both shapes. Call refresh_copies() afterwards.
  void load(const std::string& name, const at::Tensor& value, const at::Tensor& flat_buffer = {});

 private:
  size_t index_of(const std::string& name) const;
  void upload_segments();

  const ops::Table* table_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> tensors_;
  std::vector<ops::Segment> segments_;
  std::vector<models::Traits> traits_;
  at::Tensor flat_, gradients_, copies_, device_segments_;
};

}  // namespace shoal::train
