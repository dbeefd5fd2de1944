// set_data() makes a model's tensor a view of the flat buffer without creating another Tensor
// object. So every layer and every later autograd node uses the buffer. Each gradient is a view of
// the gradient buffer. Autograd adds to an existing gradient in place, so backward writes directly
// into that buffer.

#include "train/step/state/flat_parameters.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/round.h"
#include "models/functions.h"

namespace shoal::train {
namespace {

std::vector<int64_t> flat_strides(at::IntArrayRef sizes) {
  if (sizes.size() == 4) {  // channels-last: N, H, W, C in memory
    return {sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]};
  }
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

at::Tensor view_at(const at::Tensor& flat, at::IntArrayRef sizes, int64_t offset) {
  return flat.as_strided(sizes, flat_strides(sizes), offset);
}

std::string shape_of(const at::Tensor& tensor) {
  std::string text = "[";
  for (int64_t size : tensor.sizes()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

}  // namespace

void copy_to_cpu(const at::Tensor& tensor, at::Tensor& copy) {
  if (!copy.defined()) copy = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  copy.copy_(tensor);
}

FlatParameters::FlatParameters(models::Classifier& model, const FlatOptions& options)
    : table_(&models::operations(options.device)) {
  at::NoGradGuard no_grad;
  if (options.type != at::kFloat && options.type != at::kDouble) {
    throw std::invalid_argument("flat parameters must be float or double");
  }
  const std::vector<models::ParameterSlot> slots = model.parameters();
  const models::Traits last = slots.back().traits;  // the last slot is the classifier's
  int64_t end = 0;
  for (const models::ParameterSlot& slot : slots) {
    ops::Segment segment;
    segment.offset = end;
    segment.length = slot.master->numel();
    segment.weight_decay = slot.traits.decays ? static_cast<float>(options.weight_decay) : 0.0f;
    const double head = slot.traits.depth == last.depth ? options.head_lr_scale : 1;
    segment.lr_scale =
        static_cast<float>(head * std::pow(options.layer_decay, last.depth - slot.traits.depth));
    segments_.push_back(segment);
    names_.push_back(slot.name);
    traits_.push_back(slot.traits);
    end += round_up(segment.length, kFlatAlignment);
  }
  const auto place = at::TensorOptions().device(options.device);
  flat_ = at::zeros({end}, place.dtype(options.type));
  gradients_ = at::zeros({end}, place.dtype(options.type));
  if (options.copy_type) copies_ = at::zeros({end}, place.dtype(*options.copy_type));

  for (size_t i = 0; i < slots.size(); ++i) {
    at::Tensor& master = *slots[i].master;
    const int64_t offset = segments_[i].offset;
    at::Tensor parameter = view_at(flat_, master.sizes(), offset);
    parameter.copy_(master.detach());
    master.set_data(parameter);
    master.set_requires_grad(true);
    master.mutable_grad() = view_at(gradients_, master.sizes(), offset);
    tensors_.push_back(master);
    if (copies_.defined() && slots[i].copy != nullptr) {
      *slots[i].copy = view_at(copies_, master.sizes(), offset);
    }
  }
  refresh_copies();
  upload_segments();
}

void FlatParameters::upload_segments() {
  std::vector<ops::Segment> trained;
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (tensors_[i].requires_grad()) trained.push_back(segments_[i]);
  }
  const auto bytes = static_cast<int64_t>(trained.size() * sizeof(ops::Segment));
  at::Tensor host = at::empty({bytes}, at::kByte);
  std::memcpy(host.data_ptr(), trained.data(), static_cast<size_t>(bytes));
  device_segments_ = host.to(flat_.device());
}

void FlatParameters::train_only(const std::vector<bool>& trained, int64_t steps) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    int64_t& first = segments_[i].first_step;
    if (trained[i] && first < 0) first = steps;
    if (!trained[i] && steps == 0) first = -1;
    tensors_[i].set_requires_grad(trained[i]);
  }
  zero_gradients();
  upload_segments();
}

void FlatParameters::set_first_step(size_t index, int64_t step) {
  segments_[index].first_step = step;
}

std::vector<at::Tensor> FlatParameters::trained_tensors() const {
  std::vector<at::Tensor> trained;
  for (const at::Tensor& tensor : tensors_) {
    if (tensor.requires_grad()) trained.push_back(tensor);
  }
  return trained;
}

const ops::Segment* FlatParameters::device_segments() const {
  return static_cast<const ops::Segment*>(device_segments_.const_data_ptr());
}

int64_t FlatParameters::device_segment_count() const {
  return device_segments_.numel() / static_cast<int64_t>(sizeof(ops::Segment));
}

ops::Type FlatParameters::type() const {
  return flat_.scalar_type() == at::kDouble ? ops::Type::f64 : ops::Type::f32;
}

void* FlatParameters::stream() const {
  return models::stream_of(flat_.device());
}

void FlatParameters::zero_gradients() {
  gradients_.zero_();
}

void FlatParameters::refresh_copies() {
  if (copies_.defined()) copies_.copy_(flat_);
}

at::Tensor FlatParameters::view(size_t index, const at::Tensor& flat_buffer) const {
  return view_at(flat_buffer.defined() ? flat_buffer : flat_, tensors_.at(index).sizes(),
                 segments_.at(index).offset);
}

at::Tensor FlatParameters::contiguous_copy(const std::string& name,
                                           const at::Tensor& flat_buffer) const {
  at::NoGradGuard no_grad;
  at::Tensor copy;
  copy_to_cpu(view(index_of(name), flat_buffer), copy);
  return copy;
}

void FlatParameters::load(const std::string& name, const at::Tensor& value,
                          const at::Tensor& flat_buffer) {
  at::NoGradGuard no_grad;
  at::Tensor target = view(index_of(name), flat_buffer);
  if (value.sizes() != target.sizes()) {
    throw std::runtime_error("parameter '" + name + "' has shape " + shape_of(target) +
                             " in the model but " + shape_of(value) + " in the file");
  }
  target.copy_(value);
}

size_t FlatParameters::index_of(const std::string& name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return i;
  }
  throw std::out_of_range("the model has no parameter '" + name + "'");
}

}  // namespace shoal::train
