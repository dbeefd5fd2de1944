// Compiled only with the CUDA plug-in. If LibTorch's CUDA libraries are installed, the plug-in must
// load, with or without a GPU. Otherwise the error must name the missing library.

#include "train/step/cuda/plugin.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "train/step/cuda/open.h"
#include "train/step/device.h"
#include "train/step/input.h"

using namespace shoal;
using Catch::Matchers::Contains;

// Must be the first test case, because an open plug-in stays open.
TEST_CASE("a missing CUDA plug-in is a clear error") {
  CHECK_THROWS_WITH(train::cuda_plugin("/nonexistent"),
                    Contains("no CUDA plug-in") && Contains("--device cpu"));
}

TEST_CASE("the CUDA plug-in opens beside the program") {
  const cuda::Plugin* plugin = nullptr;
  try {
    plugin = &train::cuda_plugin(SHOAL_BINARY_DIR);
  } catch (const std::runtime_error& error) {
    INFO(error.what());
    REQUIRE_FALSE(SHOAL_CUDA_LIBRARIES_INSTALLED);
    CHECK_THAT(error.what(), Contains("cannot be loaded: lib") && Contains("scripts/build --cuda"));
    return;
  }
  CHECK(&train::cuda_plugin() == plugin);
  CHECK(plugin->version == cuda::kPluginVersion);
  CHECK_THAT(plugin->architectures, Contains("80"));

  char reason[256] = "";
  const int count = plugin->device_count(reason, sizeof reason);
  if (count == 0) {
    CHECK_THAT(std::string(reason), Contains("no usable GPU: "));
    CHECK_THROWS_WITH(plugin->device_info(0), Contains("cudaGetDeviceProperties"));
    CHECK_THROWS_WITH(plugin->synchronize(), Contains("cudaDeviceSynchronize"));
  }

  train::ResolvedJob job;
  job.device = "cuda";
  const data::BufferAllocator memory = train::batch_memory(job);
  CHECK(memory.room_per_row == train::room_per_row());
  if (count == 0) {
    CHECK_THROWS_WITH(memory.allocate(100), Contains("cudaHostAlloc"));  // allocates pinned memory
  } else {
    at::empty({1}, at::kCUDA);  // is_pinned() is false until LibTorch has initialized CUDA
    void* bytes = memory.allocate(100);
    REQUIRE(bytes != nullptr);
    CHECK(at::from_blob(bytes, {100}, at::kByte).is_pinned());
    memory.release(bytes);
  }

  for (int device = 0; device < count; ++device) {
    const cuda::DeviceInfo info = plugin->device_info(device);
    CHECK(std::string(info.name) != "");
    CHECK(info.major >= 7);
    CHECK(info.free_bytes <= info.total_bytes);
    plugin->set_device(device);
    CHECK(plugin->check(device));
    plugin->synchronize();
    CHECK(plugin->memory_statistics(device).allocated_bytes == 0);
  }
}
