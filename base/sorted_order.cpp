#include "base/sorted_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace shoal {
namespace {

size_t shared_length(const std::vector<std::string_view>& texts) {
  std::string_view shared = texts.empty() ? std::string_view() : texts[0];
  for (const std::string_view text : texts) {
    const auto [end, other] = std::ranges::mismatch(shared, text);
    shared = shared.substr(0, static_cast<size_t>(end - shared.begin()));
    if (shared.empty()) break;
  }
  return shared.size();
}

// Returns the first 8 bytes, padded with zeros, as a big-endian number. Comparing such numbers
// compares the bytes.
uint64_t leading_bytes(std::string_view text) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof bytes; ++i)
    bytes = bytes << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  return bytes;
}

}  // namespace

std::vector<size_t> sorted_order(const std::vector<std::string_view>& texts) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (std::ranges::is_sorted(texts)) return order;
  const size_t shared = shared_length(texts);
  struct Entry {
    uint64_t leading;
    size_t index;
  };
  std::vector<Entry> entries;
  entries.reserve(texts.size());
  for (const size_t i : order) entries.push_back({leading_bytes(texts[i].substr(shared)), i});
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
    if (a.leading != b.leading) return a.leading < b.leading;
    const int compared = texts[a.index].substr(shared).compare(texts[b.index].substr(shared));
    return compared != 0 ? compared < 0 : a.index < b.index;
  });
  std::ranges::transform(entries, order.begin(), &Entry::index);
  return order;
}

void sort_texts(std::vector<std::string>& texts) {
  std::vector<std::string> sorted;
  sorted.reserve(texts.size());
  // Copies the texts, so that neighbors are near one another in memory.
  for (const size_t i : sorted_order({texts.begin(), texts.end()})) sorted.push_back(texts[i]);
  texts = std::move(sorted);
}

}  // namespace shoal
