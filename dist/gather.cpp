#include "dist/gather.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

namespace shoal::dist {

std::vector<int64_t> gather_number(const Group& group, int64_t mine) {
  at::Tensor number = at::zeros({1}, at::kLong);
  *number.mutable_data_ptr<int64_t>() = mine;
  std::vector<int64_t> all;
  for (const at::Tensor& one : group.all_gather(number))
    all.push_back(*one.const_data_ptr<int64_t>());
  return all;
}

std::vector<std::string> gather_text(const Group& group, const std::string& mine) {
  const auto sizes = gather_number(group, static_cast<int64_t>(mine.size()));
  at::Tensor text = at::zeros({*std::max_element(sizes.begin(), sizes.end()) + 1}, at::kByte);
  std::memcpy(text.mutable_data_ptr<uint8_t>(), mine.data(), mine.size());
  std::vector<std::string> all;
  for (const at::Tensor& one : group.all_gather(text)) {
    const auto* const begin = reinterpret_cast<const char*>(one.const_data_ptr<uint8_t>());
    all.emplace_back(begin, static_cast<size_t>(sizes[all.size()]));
  }
  return all;
}

}  // namespace shoal::dist
