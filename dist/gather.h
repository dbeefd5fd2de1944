#pragma once
// Collects or distributes small values over Gloo. Works with groups of any size.

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

// Each returns every rank's value of `mine`, in rank order. Collective.
std::vector<int64_t> gather_number(const Group& group, int64_t mine);
std::vector<std::string> gather_text(const Group& group, const std::string& mine);

// Returns the sum of all ranks' values of `mine`. Collective.
int64_t sum_numbers(const Group& group, int64_t mine);

// Returns the values of all ranks, in rank order. Ranks may have different numbers of values.
// Collective.
template <typename T>
std::vector<T> gather_values(const Group& group, const std::vector<T>& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* const bytes = reinterpret_cast<const char*>(mine.data());
  std::vector<T> all;
  for (const std::string& text : gather_text(group, std::string(bytes, mine.size() * sizeof(T)))) {
    const size_t before = all.size();
    all.resize(before + text.size() / sizeof(T));
    std::memcpy(static_cast<void*>(all.data() + before), text.data(), text.size());
  }
  return all;
}

// Each replaces the argument on every rank with that of rank 0. Collective.
void broadcast_bytes(const Group& group, std::vector<char>& bytes);
void broadcast_text(const Group& group, std::string& text);

// Calls `read` on rank 0. If it throws, every rank throws an exception with the same message: a
// UserError if `read` threw one, otherwise a std::runtime_error. Collective.
void on_rank_0(const Group& group, const std::function<void()>& read);

}  // namespace shoal::dist
