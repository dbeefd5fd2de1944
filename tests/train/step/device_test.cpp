#include "train/step/device.h"

#include <catch2/catch.hpp>

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;

namespace {

cuda::DeviceInfo gpu_on_card(const std::string& pci, unsigned char uuid) {
  cuda::DeviceInfo info = {};
  pci.copy(info.pci, sizeof info.pci - 1);
  info.uuid[1] = uuid;
  return info;
}

template <int kMajor>
cuda::DeviceInfo gpu_of_capability(int) {
  cuda::DeviceInfo info = {};
  info.name[0] = 'T';
  info.major = kMajor;
  info.minor = 5;
  return info;
}

}  // namespace

TEST_CASE("the CPU is used if requested or if there is no GPU") {
  Job job;
  job.device = "cpu";
  CHECK(claim_gpu(job, 0).count == 0);
  CHECK(claim_gpu(job, 0).why_none.empty());
  job.device = "auto";
  const Gpus gpus = claim_gpu(job, 0);
  CHECK((gpus.count > 0) == gpus.why_none.empty());
  job.device = "cuda";
  if (gpus.count == 0)
    CHECK_THROWS_WITH(claim_gpu(job, 0), Contains("--device cuda: ") && Contains("--device cpu"));
  else
    CHECK(claim_gpu(job, gpus.count + 1).mine == 1 % gpus.count);
}

TEST_CASE("MIG instances of one card share a name; other cards and hosts have other names") {
  const cuda::DeviceInfo first = gpu_on_card("0000:3b:00.0", 0xab);
  const cuda::DeviceInfo second = gpu_on_card("0000:3b:00.0", 2);  // another MIG instance
  const cuda::DeviceInfo other = gpu_on_card("0000:af:00.0", 3);
  CHECK(card_name("host", first) == card_name("host", second));
  CHECK(card_name("host", first) != card_name("host", other));
  CHECK(card_name("host", first) != card_name("another host", first));
  CHECK(card_name("", first) == "00ab" + std::string(28, '0'));
  CHECK(card_name("", first) != card_name("", second));
}

TEST_CASE("bfloat16 is refused on GPUs that do not support it") {
  cuda::Plugin plugin = {};
  Gpus gpus;
  gpus.plugin = &plugin;
  ResolvedJob job;
  job.amp = Precision::bf16;
  plugin.device_info = gpu_of_capability<7>;
  CHECK_NOTHROW(check_precision(job, gpus));  // no GPU: the job runs on the CPU
  gpus.count = 1;
  CHECK_THROWS_WITH(check_precision(job, gpus), Contains("--amp") && Contains("the T has 7.5"));
  job.amp = Precision::off;
  CHECK_NOTHROW(check_precision(job, gpus));
  job.amp = Precision::bf16;
  plugin.device_info = gpu_of_capability<8>;
  CHECK_NOTHROW(check_precision(job, gpus));
}

TEST_CASE("a job on the CPU keeps its batches in ordinary memory") {
  ResolvedJob job;
  job.device = "cpu";
  CHECK(device_of(job) == at::Device(at::kCPU));
  CHECK_FALSE(batch_memory(job).allocate);
  job.device = "cuda";
  job.gpu = 3;
  CHECK(device_of(job) == at::Device(at::kCUDA, 3));
}
