#include "tests/models/formula.h"

#include <ATen/ATen.h>

#include <cmath>
#include <set>

namespace shoal::models::testing {
namespace {

// Whether `name` is the weight of the last batch norm of a residual branch.
bool ends_branch(const std::string& name, const std::set<std::string>& names) {
  const auto ends_with = [&](const std::string& tail) {
    return name.size() > tail.size() &&
           name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
  };
  if (name.rfind("features.", 0) == 0 && name.find(".block.") != std::string::npos) {
    const size_t stage = name.find('.') + 1, repeat = name.find('.', stage) + 1;
    if (name[repeat] == '0') return false;  // the first block of a stage has no residual
    // Require "features.STAGE.REPEAT.block.PART.1.weight" and that the block has no part PART + 1.
    const size_t part = name.find(".block.") + 7;
    if (!ends_with(".1.weight") || name.find('.', part) + 9 != name.size()) return false;
    const std::string next =
        name.substr(0, part) + std::to_string(std::stoi(name.substr(part)) + 1) + ".";
    const auto found = names.lower_bound(next);
    return found == names.end() || found->rfind(next, 0) != 0;
  }
  if (name.rfind("layer", 0) != 0) return false;
  if (ends_with(".bn3.weight")) return true;
  if (!ends_with(".bn2.weight")) return false;
  std::string third = name;
  third.replace(third.rfind("bn2"), 3, "bn3");
  return names.count(third) == 0;
}

void put(at::Tensor& slot, at::Tensor value, at::ScalarType dtype) {
  value = value.to(dtype);
  slot = value.dim() == 4 ? value.contiguous(at::MemoryFormat::ChannelsLast) : value;
}

}  // namespace

uint64_t fnv(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ULL;
  return h;
}

at::Tensor uniform(const std::string& name, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kDouble);
  double* p = out.data_ptr<double>();
  const uint64_t start = fnv(name);
  for (int64_t i = 0; i < out.numel(); ++i) {
    uint64_t z = start + static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z = z ^ (z >> 31);
    p[i] = static_cast<double>(z >> 11) * 0x1p-52 - 1;
  }
  return out;
}

void fill(Classifier& model, at::ScalarType dtype) {
  std::set<std::string> names, norms;
  for (const ParameterSlot& slot : model.parameters()) names.insert(slot.name);
  for (const BatchNormSlot& slot : model.batch_norms()) {
    norms.insert(slot.name);
    const int64_t channels = slot.running_mean->size(0);
    put(*slot.running_mean, 0.1 * uniform(slot.name + ".running_mean", {channels}), dtype);
    put(*slot.running_var, 1 + 0.2 * uniform(slot.name + ".running_var", {channels}), dtype);
    *slot.pending = at::zeros({2, channels}, dtype);
  }
  for (const ParameterSlot& slot : model.parameters()) {
    const at::Tensor u = uniform(slot.name, slot.master->sizes());
    const size_t dot = slot.name.rfind('.');
    at::Tensor value = 0.1 * u;
    if (u.dim() >= 2) {
      value = u * std::sqrt(6.0 / static_cast<double>(u.numel() / u.size(0)));
    } else if (norms.count(slot.name.substr(0, dot)) && slot.name.substr(dot) == ".weight") {
      value = (1 + 0.1 * u) * (ends_branch(slot.name, names) ? 0.2 : 1.0);
    }
    put(*slot.master, value, dtype);
    slot.master->requires_grad_();
  }
}

at::Tensor test_images(at::ScalarType dtype) {
  return (std::sqrt(3.0) * uniform("images", {2, 3, 64, 64}))
      .to(dtype)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace shoal::models::testing
