#include "dist/gather.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace shoal::dist {

std::vector<int64_t> gather_number(const Group& group, int64_t mine) {
  at::Tensor number = at::zeros({1}, at::kLong);
  *number.mutable_data_ptr<int64_t>() = mine;
  std::vector<int64_t> all;
  for (const at::Tensor& one : group.all_gather(number))
    all.push_back(*one.const_data_ptr<int64_t>());
  return all;
}

int64_t sum_numbers(const Group& group, int64_t mine) {
  const auto all = gather_number(group, mine);
  return std::accumulate(all.begin(), all.end(), int64_t{0});
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

void broadcast_bytes(const Group& group, std::vector<char>& bytes) {
  if (group.size() == 1) return;
  at::Tensor size = at::zeros({1}, at::kLong);
  *size.mutable_data_ptr<int64_t>() = static_cast<int64_t>(bytes.size());
  group.broadcast(size, 0);
  const int64_t count = *size.const_data_ptr<int64_t>();
  if (count == 0) return bytes.clear();
  at::Tensor data = at::empty({count}, at::kByte);
  if (group.rank() == 0) std::memcpy(data.mutable_data_ptr(), bytes.data(), bytes.size());
  group.broadcast(data, 0);
  bytes.resize(static_cast<size_t>(count));
  std::memcpy(bytes.data(), data.const_data_ptr(), bytes.size());
}

void broadcast_text(const Group& group, std::string& text) {
  std::vector<char> bytes(text.begin(), text.end());
  broadcast_bytes(group, bytes);
  text.assign(bytes.begin(), bytes.end());
}

void on_rank_0(const Group& group, const std::function<void()>& read) {
  std::string user_error, failure;
  if (group.rank() == 0) {
    try {
      read();
    } catch (const UserError& error) {
      user_error = error.what();
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  broadcast_text(group, user_error);
  broadcast_text(group, failure);
  if (!user_error.empty()) throw UserError(user_error);
  if (!failure.empty()) throw std::runtime_error(failure);
}

}  // namespace shoal::dist
