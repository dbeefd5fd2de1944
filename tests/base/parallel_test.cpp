#include "base/parallel.h"

#include <catch2/catch.hpp>
#include <latch>
#include <stdexcept>
#include <string>

using shoal::for_each_index;

TEST_CASE("every index is called once") {
  std::vector<int> calls(100, 0);
  for_each_index(calls.size(), 3, [&](size_t i) { ++calls[i]; });
  CHECK(calls == std::vector<int>(100, 1));
}

TEST_CASE("the exception of the lowest index is rethrown, even if another one is first") {
  std::latch second_fails{1};
  const auto work = [&](size_t i) {
    if (i == 0) second_fails.wait();
    if (i == 1) second_fails.count_down();
    throw std::runtime_error(std::to_string(i));
  };
  CHECK_THROWS_WITH(for_each_index(2, 2, work), "0");
}
