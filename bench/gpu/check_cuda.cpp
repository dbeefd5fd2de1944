// Checks the plug-in, NCCL, CUDA graphs and traces.

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <fstream>
#include <set>
#include <sstream>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "bench/gpu/first_light.h"

namespace shoal::bench {

bool plugin_check() {
  Report report("plugin");
  const cuda::Plugin& plugin = *place(false).plugin;  // opens it before any other use of CUDA
  const cuda::DeviceInfo info = plugin.device_info(0);
  report.text("card", info.name);
  report.number("compute_capability", info.major + info.minor / 10.0);
  report.number("multiprocessors", info.multiprocessors);
  report.number("gib", static_cast<double>(info.total_bytes) / (1 << 30));
  report.check("own_kernel", plugin.check(0));
  report.check("libtorch_sees_it", at::hasCUDA());
  const at::Tensor sum = at::ones({1000}, at::kCUDA).sum();
  report.check("libtorch_computes", sum.item<float>() == 1000);
  report.check("memory_is_counted", plugin.memory_statistics(0).allocated_bytes > 0);
  return report.print();
}

bool nccl_check() {
  Report report("nccl");
  const Place where = place(false);
  StepOptions options;
  options.model = "resnet18";
  options.batch = 8;
  options.size = 64;
  options.device = where.device;
  SyntheticStep step(options);
  step.differentiate();
  const at::Tensor gradients = step.parameters().gradients(), before = gradients.clone();

  auto store = c10::make_intrusive<c10d::HashStore>();
  auto nccl = c10::intrusive_ptr<c10d::Backend>::reclaim(
      where.plugin->nccl.make(store.get(), 0, 1, 0, 60'000, "first light"));
  std::vector<at::Tensor> list = {gradients};
  c10d::AllreduceOptions average;
  average.reduceOp = c10d::ReduceOp::AVG;
  nccl->allreduce(list, average)->wait();
  where.synchronize();
  report.check("gradients", at::equal(gradients, before));
  where.plugin->nccl.shutdown(nccl.get());
  nccl.reset();
  report.check("closed", true);
  return report.print();
}

bool graph_check(const std::string& model, const std::string& type) {
  Report report("graph " + model + " " + type);
  const Place where = place(false);
  const auto reserved = [&] {
    return static_cast<double>(where.plugin->memory_statistics(0).reserved_bytes) / (1 << 20);
  };
  compute_exactly();
  StepOptions options = gpu_options(where, model, type);
  options.batch = 32;
  options.size = 64;
  SyntheticStep eager(options), recorded(options);
  for (int i = 0; i < 8; ++i) eager.enqueue();
  where.synchronize();
  report.number("mib_eager", reserved());
  Recorded graph = record(*where.plugin, recorded);
  report.number("mib_with_graph", reserved());
  for (int i = 0; i < 5; ++i) where.plugin->replay(graph.get());
  where.synchronize();
  report.below("loss", std::abs(recorded.loss() - eager.loss()), 1e-6);
  const double difference =
      relative_difference(recorded.parameters().flat(), eager.parameters().flat());
  report.below("parameters", difference, 1e-6);
  report.text("bit_for_bit", difference == 0 ? "yes" : "no");
  report.below("statistics",
               relative_difference(recorded.statistics().running(), eager.statistics().running()),
               1e-6);
  report.check("it_moved", relative_difference(recorded.parameters().flat(),
                                               SyntheticStep(options).parameters().flat()) > 1e-6);
  graph.reset();
  where.plugin->empty_cache();
  report.number("mib_after_graph", reserved());
  return report.print();
}

bool trace_check(const std::string& file) {
  using namespace torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  Report report("trace");
  const Place where = place(false);
  SyntheticStep step(gpu_options(where, "efficientnet_b0", "bf16"));
  for (int i = 0; i < 3; ++i) step.enqueue();
  where.synchronize();
  const std::set<ActivityType> activities = {ActivityType::CPU, ActivityType::CUDA};
  const ProfilerConfig config(ProfilerState::KINETO);
  prepareProfiler(config, activities);
  enableProfiler(config, activities,
                 {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  step.enqueue();
  where.synchronize();
  disableProfiler()->save(file);
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const std::string trace = text.str();
  const auto count = [&](const std::string& what) {
    double found = 0;
    for (size_t at = trace.find(what); at != trace.npos; at = trace.find(what, at + 1)) ++found;
    return found;
  };
  report.number("kernels", count("\"cat\": \"kernel\""));
  report.check("has_kernels", count("\"cat\": \"kernel\"") > 100);
  report.check("has_ours", count("call_for_") > 10);
  return report.print();
}

}  // namespace shoal::bench
