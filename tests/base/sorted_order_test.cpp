#include "base/sorted_order.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/hash.h"

using namespace shoal;
using Texts = std::vector<std::string>;

namespace {

// Returns texts that begin with `shared`: of several lengths, some with zero bytes, some equal.
Texts many_texts(const std::string& shared) {
  Texts texts;
  for (uint64_t i = 0; i < 3000; ++i) {
    std::string text = shared;
    for (uint64_t at = 0; at < i % 23; ++at) text += "\0ab\xff"[combine(i % 1000, at) % 4];
    texts.push_back(text);
  }
  return texts;
}

}  // namespace

TEST_CASE("texts are sorted bytewise") {
  for (const char* shared : {"", "img_"}) {
    Texts texts = many_texts(shared), expected = texts;
    std::sort(expected.begin(), expected.end());
    sort_texts(texts);
    CHECK(texts == expected);
    sort_texts(texts);
    CHECK(texts == expected);
  }
  Texts none;
  sort_texts(none);
  CHECK(none.empty());
}

TEST_CASE("equal texts keep their order") {
  const Texts texts = many_texts("img_");
  std::vector<size_t> expected(texts.size());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = i;
  std::stable_sort(expected.begin(), expected.end(),
                   [&](size_t a, size_t b) { return texts[a] < texts[b]; });
  CHECK(sorted_order({texts.begin(), texts.end()}) == expected);
}
