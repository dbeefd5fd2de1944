#include "train/step/allocator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

TEST_CASE("tensors use the cache once it is installed, and older ones stay valid") {
  at::Tensor older = at::full({1000}, 3.0);
  const bool installed = shoal::train::install_allocator();
#ifdef __SANITIZE_ADDRESS__
  CHECK_FALSE(installed);
#else
  REQUIRE(installed);
  CHECK(shoal::train::install_allocator());
  const auto before = shoal::train::allocator_statistics();
  const void* memory = nullptr;
  {
    const at::Tensor tensor = at::empty({5 << 20}, at::kByte);
    memory = tensor.const_data_ptr();
    CHECK(shoal::train::allocator_statistics().bytes_in_use >= before.bytes_in_use + (5 << 20));
  }
  CHECK(shoal::train::allocator_statistics().bytes_in_use == before.bytes_in_use);
  CHECK(at::empty({5 << 20}, at::kByte).const_data_ptr() == memory);
  CHECK(at::empty({0}).numel() == 0);
#endif
  CHECK(older.sum().item<double>() == 3000);
  older = at::Tensor();
}
