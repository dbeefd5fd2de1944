#pragma once
// All parameters of a model in one contiguous buffer, and their gradients in another of the same
// layout.
//
// So optimizer, moving average, clipping, zeroing, broadcasting and comparing ranks are single
// passes over memory. The model's own tensors become views into the buffers: 4-D weights with
// channels-last strides, others contiguous. Every parameter starts at a multiple of 16 elements;
// the gaps are zero in every buffer and stay zero. Not thread-safe; belongs to the thread that
// trains.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "ops/ops.h"

namespace shoal::train {

// Elements to a multiple of which a tensor's place in a flat buffer begins; also 64 bytes of float.
inline constexpr int64_t kFlatAlignment = 16;

struct FlatOptions {
  at::ScalarType type = at::kFloat;  // float, or double for exact comparisons
  // kBFloat16 or kHalf: layers compute with a copy in this type.
  std::optional<at::ScalarType> copy_type = std::nullopt;
  double weight_decay = 0;  // for parameters of two and more dimensions; others get none
  at::Device device = at::kCPU;
};

class FlatParameters {
 public:
  // Moves the parameters of `model` into the buffers, converting type and device, and gives each a
  // gradient view; the values are kept. Make it before the gradient reducer. `model` must outlive
  // this object; when this object goes, the model's tensors stay valid (views own the memory).
  FlatParameters(models::Classifier& model, const FlatOptions& options);
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  // Layer order. The tensors are the model's own parameters, with grad() preset.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  const std::vector<ops::Segment>& segments() const { return segments_; }

  // The buffers: 1-D, total() elements. copies() is undefined without copy_type.
  const at::Tensor& flat() const { return flat_; }
  const at::Tensor& gradients() const { return gradients_; }
  const at::Tensor& copies() const { return copies_; }
  int64_t total() const { return flat_.numel(); }               // padding included
  int64_t parameter_count() const { return parameter_count_; }  // padding not included

  // What a call of a kernel needs: the table, the element type, the current stream of the device
  // (nullptr on the CPU), and segments() in memory of the device, owned by this object.
  const ops::Table& table() const { return *table_; }
  ops::Type type() const;
  void* stream() const;
  const ops::Segment* device_segments() const;

  // One memset. Call it instead of any optimizer's or module's zero_grad.
  void zero_gradients();
  // Gives the gradients back their views where something replaced them. Cheap.
  void restore_gradient_views();
  // Needed after parameters were changed by anything but the optimizer; does nothing without
  // copies.
  void refresh_copies();

  // A view with the parameter's shape into any buffer of this layout: optimizer state, an average.
  at::Tensor view(size_t index, const at::Tensor& flat_buffer) const;
  // A contiguous (row-major) copy on the CPU, detached: what goes into files. `flat_buffer`
  // undefined: the parameters. Throws std::out_of_range for an unknown name.
  at::Tensor contiguous_copy(const std::string& name, const at::Tensor& flat_buffer = {}) const;
  // Overwrites one parameter (or one slice of `flat_buffer`) from a tensor of the same shape, of
  // any type, strides and device. Throws std::runtime_error that names the parameter and both
  // shapes. Call refresh_copies() afterwards.
  void load(const std::string& name, const at::Tensor& value, const at::Tensor& flat_buffer = {});

  // 64-bit hash of the bytes of flat(), to compare ranks: equal where all parameters are bit-equal,
  // and otherwise different but for one case in 2^64.
  uint64_t hash() const;

 private:
  size_t index_of(const std::string& name) const;

  const ops::Table* table_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> tensors_;
  std::vector<ops::Segment> segments_;
  at::Tensor flat_, gradients_, copies_, device_segments_;
  int64_t parameter_count_ = 0;
};

// 64-bit hash of a tensor's elements in memory order; the tensor must be contiguous. Copies it to
// the CPU if needed.
uint64_t hash_bytes(const at::Tensor& tensor, uint64_t seed = 0);

}  // namespace shoal::train
