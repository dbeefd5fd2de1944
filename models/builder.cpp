#include "models/builder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace shoal::models {

Builder::Builder(uint64_t seed, bool allocate, int64_t side)
    : side(side), generator_(at::detail::createCPUGenerator(seed)), allocate_(allocate) {}

bool Builder::add(const std::string& name, at::IntArrayRef shape, at::Tensor* master,
                  at::Tensor* copy) {
  parameters.push_back({name, master, copy});
  parameter_count_ += c10::multiply_integers(shape);
  if (!allocate_) return false;
  const auto format =
      shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  *master = at::empty(shape, at::TensorOptions(at::kFloat).memory_format(format));
  return true;
}

void Builder::normal(const std::string& name, at::IntArrayRef shape, double std, at::Tensor* master,
                     at::Tensor* copy) {
  if (!add(name, shape, master, copy)) return;
  master->normal_(0, std, generator_);
  master->requires_grad_();
}

void Builder::uniform(const std::string& name, at::IntArrayRef shape, double bound,
                      at::Tensor* master) {
  if (!add(name, shape, master, nullptr)) return;
  master->uniform_(-bound, bound, generator_);
  master->requires_grad_();
}

void Builder::constant(const std::string& name, int64_t length, double value, at::Tensor* master) {
  if (!add(name, {length}, master, nullptr)) return;
  master->fill_(value);
  master->requires_grad_();
}

void Builder::batch_norm(const BatchNormSlot& slot, int64_t channels) {
  batch_norms.push_back(slot);
  if (!allocate_) return;
  *slot.running_mean = at::zeros({channels});
  *slot.running_var = at::ones({channels});
  *slot.num_batches_tracked = at::zeros({}, at::kLong);
  *slot.pending = at::zeros({2, channels});
}

}  // namespace shoal::models
