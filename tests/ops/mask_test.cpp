#include <catch2/catch.hpp>
#include <vector>

#include "ops/cuda/table.h"
#include "tests/ops/activations.h"

using namespace shoal::ops;

namespace {

const uint64_t kKeys[] = {0, 1, 0x123456789abcdef0, ~uint64_t{0}};

Buffer values(const Table& table, Type type, int64_t width, double drop, uint64_t seed = 5,
              uint64_t layer = 3) {
  Buffer out(type, 4 * width, 1);
  table.mask({type, 4, width, kKeys, seed, layer, drop}, out.data(), nullptr);
  return out;
}

}  // namespace

TEST_CASE("all implementations make the same masks, of 0 and 1 / (1 - drop)") {
  for (const Type type : {Type::f32, Type::f64, Type::bf16})
    for (const int64_t width : {1, 1280})
      for (const double drop : {0.0, 0.2, 0.999, 1.0}) {
        const Buffer want = values(reference(), type, width, drop);
        for (const Table* table : {&cpu(), &cuda_twin()})
          CHECK(values(*table, type, width, drop).storage == want.storage);
        for (int64_t i = 0; i < want.size && width == 1280; ++i)
          if (want.get(i) != 0) REQUIRE(want.get(i) == Approx(1 / (1 - drop)).epsilon(0.005));
        if (drop == 0.0) CHECK(want.get(0) == 1);
        if (drop == 1.0) CHECK(want.get(0) == 0);
      }
}

// Runs are only repeatable between versions if these values never change.
TEST_CASE("masks keep their values") {
  const Buffer mask = values(reference(), Type::f64, 16, 0.5);
  std::vector<int> kept;
  for (int64_t i = 0; i < mask.size; ++i)
    if (mask.get(i) != 0) kept.push_back(static_cast<int>(i));
  // Computed by an independent program in Python.
  CHECK(kept == std::vector<int>{0,  1,  3,  4,  5,  6,  9,  11, 13, 16, 18, 19, 20,
                                 21, 22, 24, 28, 29, 30, 32, 33, 36, 38, 39, 40, 41,
                                 42, 45, 46, 47, 48, 50, 51, 56, 57, 58, 61, 63});
}
