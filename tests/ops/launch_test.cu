// Compiled only with the CUDA plug-in. Passes with and without a GPU, because every launch fails.

#include <catch2/catch.hpp>

#include "ops/cuda/indexed.cuh"

using Catch::Matchers::Contains;

namespace shoal::ops::cuda_kernels {
namespace {

constexpr int64_t kTooMany = int64_t{1} << 39;  // needs one block more than a launch may have

template <class T>
void launch_directly(void* stream) {
  for_each_index(kTooMany, stream, [] SHOAL_BOTH(int64_t) {});
}

void launch_for_others(const Launch& launch) {
  for_each_index(kTooMany, launch, [] SHOAL_BOTH(int64_t) {});
}

void launch_indirectly(void* stream) {
  launch_for_others(stream);
}

}  // namespace

TEST_CASE("the error of a kernel that cannot start names the function that launches it") {
  CHECK_THROWS_WITH(launch_directly<float>(nullptr), Contains("launch_directly<float> failed"));
}

TEST_CASE("a function that launches kernels for others is not named, but its caller is") {
  CHECK_THROWS_WITH(launch_indirectly(nullptr), Contains("launch_indirectly failed"));
}

TEST_CASE("nothing is launched for no index") {
  CHECK_NOTHROW(for_each_index(0, nullptr, [] SHOAL_BOTH(int64_t) {}));
}

}  // namespace shoal::ops::cuda_kernels
