// Counts what a training step starts on a GPU, without a GPU: the kernels of ops/cuda, which run
// here as loops, and the operations of LibTorch.

#include <ATen/record_function.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "dist/connect.h"
#include "ops/cuda/indexed.cuh"
#include "ops/cuda/table.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/run/run_support.h"
#include "train/step/trainer.h"

using namespace shoal;
using namespace shoal::train;
using namespace shoal::test;

namespace {

// The number of kernels that operations of LibTorch start on a GPU, whatever they call on the CPU.
// cuDNN may start more.
const std::map<std::string, int64_t> kKernels = {
    {"convolution", 1}, {"convolution_backward", 2},
    {"addmm", 1},       {"mm", 1},
    {"sum", 1},         {"mean", 1},
    {"cat", 1},
};

// Counts the kernels of LibTorch by operation: those of kKernels, and one for each other operation
// that calls none, unless it only makes tensors or changes their shape.
class Operations {
 public:
  Operations() { counts().clear(); }
  ~Operations() { at::removeCallback(handle_); }
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  static std::map<std::string, int64_t>& counts() {
    static std::map<std::string, int64_t> counts;
    return counts;
  }

 private:
  struct Call : at::ObserverContext {
    std::string name;
    Call* caller = nullptr;
    bool calls_others = false, inner = false;  // inner: called by an operation of kKernels
  };
  static Call*& current() {
    static thread_local Call* call = nullptr;
    return call;
  }
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    auto call = std::make_unique<Call>();
    call->name = function.name();
    call->name = call->name.substr(call->name.rfind(':') + 1);
    call->caller = current();
    if (call->caller) {
      call->caller->calls_others = true;
      call->inner = call->caller->inner || kKernels.contains(call->caller->name);
    }
    current() = call.get();
    return call;
  }
  static void end(const at::RecordFunction&, at::ObserverContext* context) {
    static const std::set<std::string> kWithoutKernel = {
        "AccumulateGrad", "as_strided",       "as_strided_", "detach", "empty",
        "empty_like",     "empty_strided",    "expand",      "narrow", "select",
        "resolve_conj",   "resolve_neg",      "slice",       "t",      "transpose",
        "view",           "_nnpack_available"};
    const auto* const call = static_cast<Call*>(context);
    current() = call->caller;
    if (call->inner || kWithoutKernel.contains(call->name)) return;
    if (const auto known = kKernels.find(call->name); known != kKernels.end())
      counts()[call->name] += known->second;
    else if (!call->calls_others)
      ++counts()[call->name];
  }

  const at::CallbackHandle handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
};

class Twin {
 public:
  Twin() { ops::replace_cpu(&ops::cuda_twin()); }
  ~Twin() { ops::replace_cpu(nullptr); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;
};

struct Ledger {
  double loss = 0, norm = 0;
  int64_t kernels = 0;                        // of ops/cuda
  std::map<std::string, int64_t> operations;  // of LibTorch

  int64_t of_libtorch() const {
    int64_t sum = 0;
    for (const auto& [name, count] : operations) sum += count;
    return sum;
  }
};

// Makes two steps. Returns the results of the first and what the second one starts.
Ledger two_steps(const std::string& model, bool float64) {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path(), [&](Job& j) {
    j.model.name = model;
    j.model.kernels = models::Kernels::reference;  // as on a GPU
    j.float64 = float64;
    j.ema = 0.99;
  });
  dist::Communicator alone = dist::connect(dist::single_process());
  Trainer trainer(job, alone);
  std::vector<uint8_t> pixels(4 * 32 * 32 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 8);
  std::vector<data::Row> rows(4);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].label = static_cast<int32_t>(i);
    rows[i].key = i;
    rows[i].partner = static_cast<int32_t>(i);
  }
  data::Batch batch;
  batch.images = pixels.data();
  batch.rows = rows;
  batch.capacity = batch.count = 4;
  batch.height = batch.width = 32;
  const auto step = [&](int64_t number) {
    return trainer.step([&] { return &batch; }, number, 0.01);
  };
  const StepResult result = step(0);
  const Operations counted;
  ops::cuda_kernels::launches() = 0;
  step(1);
  return {result.meter.loss, result.gradient_norm, ops::cuda_kernels::launches(),
          Operations::counts()};
}

}  // namespace

TEST_CASE("a step with the GPU's sources equals the CPU's, and starts few kernels", "[slow]") {
  struct Expected {
    std::string model;
    int64_t kernels, operations;
  };
  for (const Expected& most : {Expected{"efficientnet_b0", 277, 508}, {"resnet50", 219, 257}}) {
    const Ledger want = two_steps(most.model, true);
    const Twin twin;
    const Ledger exact = two_steps(most.model, true), got = two_steps(most.model, false);
    CHECK(exact.loss == Approx(want.loss).epsilon(1e-11));
    CHECK(exact.norm == Approx(want.norm).epsilon(1e-9));
    std::string text = most.model + ": " + std::to_string(got.kernels) + " kernels of shoal; ";
    for (const auto& [name, count] : got.operations)
      text += name + " " + std::to_string(count) + ", ";
    INFO(text);
    CHECK(got.kernels <= most.kernels);
    CHECK(got.of_libtorch() <= most.operations);
    // These would make the CPU wait for the GPU, or allocate page-locked memory.
    for (const char* name : {"_local_scalar_dense", "item", "nonzero", "_pin_memory", "is_nonzero"})
      CHECK_FALSE(got.operations.contains(name));
  }
}
