#include "train/step/device.h"

#include <catch2/catch.hpp>

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;

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

TEST_CASE("a job on the CPU keeps its batches in ordinary memory") {
  ResolvedJob job;
  job.device = "cpu";
  CHECK(device_of(job) == at::Device(at::kCPU));
  CHECK_FALSE(batch_memory(job).allocate);
  job.device = "cuda";
  job.gpu = 3;
  CHECK(device_of(job) == at::Device(at::kCUDA, 3));
}
