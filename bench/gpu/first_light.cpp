// Checks LibTorch and shoal's operations on a GPU, and times training steps. Run by
// bench/gpu_first_light.sh and, where a GPU is found, by ctest.
//
//   gpu_first_light plugin                    opens the plug-in before any other use of CUDA
//   gpu_first_light step MODEL                compares two steps with the CPU's in f64, and the
//                                             gradients in f32 and bf16
//   gpu_first_light operations                compares batch preparation, optimizers and EMA with
//                                             the reference implementation
//   gpu_first_light nccl                      one step with c10d's Reducer over NCCL, world size 1
//   gpu_first_light graph MODEL f32|bf16      compares five steps of a CUDA graph with eager steps;
//                                             reports memory
//   gpu_first_light trace FILE                writes a Kineto trace of a step, with kernels
//   gpu_first_light shared                    trains on GPU 0 over Gloo, as one of two processes
//                                             with torchrun's variables
//   gpu_first_light time MODEL SIZE BATCH f32|bf16|f16 eager|graph
//                                             images/s of steps on synthetic images, no dropout
//
// Prints one JSON object. Exit status: 1 if a check failed, 2 usage, 3 no usable GPU. With a last
// argument `cpu`, step, operations, shared and time run on the CPU, to test this program.

#include "bench/gpu/first_light.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace shoal::bench {
namespace {

const cuda::Plugin& open_gpu() {
  const cuda::Plugin& plugin = train::cuda_plugin();
  char reason[256] = "";
  if (plugin.device_count(reason, sizeof reason) == 0) throw NoGpu(reason);
  plugin.set_device(0);
  return plugin;
}

}  // namespace

Place place(bool on_cpu) {
  if (on_cpu) return {};
  return {at::Device(at::kCUDA, 0), &open_gpu()};
}

void compute_exactly() {
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setAllowTF32CuDNN(false);
}

double relative_difference(const at::Tensor& got_any, const at::Tensor& want_any) {
  const at::Tensor got = got_any.detach().to(at::kCPU, at::kDouble),
                   want = want_any.detach().to(at::kCPU, at::kDouble);
  return (got - want).norm().item<double>() / std::max(want.norm().item<double>(), 1e-300);
}

StepOptions gpu_options(const Place& where, const std::string& model, const std::string& type) {
  StepOptions options;
  options.model = model;
  options.device = where.device;
  options.masks = false;  // a graph would repeat one set of masks: they come from host memory
  if (type == "bf16") options.copy_type = at::kBFloat16;
  if (type == "f16") options.copy_type = at::kHalf;
  if (type != "f32" && !options.copy_type)
    throw std::invalid_argument("'" + type + "' must be f32, bf16 or f16");
  return options;
}

namespace {

int64_t count_of(const std::string& word) {
  const auto count = parse_number<int64_t>(word);
  if (!count || *count < 1)
    throw std::invalid_argument("'" + word + "' must be a number of 1 or more");
  return *count;
}

}  // namespace

bool time_step(const Place& where, const std::vector<std::string>& words) {
  constexpr int kGroups = 5;
  const std::string &model = words.at(0), &type = words.at(3), &way = words.at(4);
  if (way != "eager" && way != "graph")
    throw std::invalid_argument("'" + way + "' must be eager or graph");
  Report report("time " + model + " " + words[1] + " px, batch " + words[2] + ", " + type + ", " +
                way);
  at::globalContext().setBenchmarkCuDNN(true);
  at::globalContext().setAllowTF32CuDNN(true);
  StepOptions options = gpu_options(where, model, type);
  options.size = count_of(words[1]);
  options.batch = count_of(words[2]);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto seconds_since = [&](auto start) {
    return std::chrono::duration<double>(now() - start).count();
  };
  const auto begin = now();
  SyntheticStep step(options);
  Recorded graph{nullptr, nullptr};
  if (way == "graph" && where.plugin) {
    graph = record(*where.plugin, step);
  } else {
    for (int i = 0; i < 3; ++i) step.enqueue();
  }
  const auto run = [&] { graph ? where.plugin->replay(graph.get()) : step.enqueue(); };
  run();
  where.synchronize();
  report.number("warm_up_seconds", seconds_since(begin));
  if (where.plugin) where.plugin->reset_peak_memory(0);
  const auto once = now();
  run();
  where.synchronize();
  const int count = std::clamp(static_cast<int>(1.0 / seconds_since(once)), 1, 200);
  std::vector<double> rates;
  for (int g = 0; g < kGroups; ++g) {
    const auto start = now();
    for (int i = 0; i < count; ++i) run();
    where.synchronize();
    rates.push_back(static_cast<double>(options.batch * count) / seconds_since(start));
  }
  std::sort(rates.begin(), rates.end());
  report.number("images_per_second", rates[kGroups / 2]);
  report.number("least", rates.front());
  report.number("most", rates.back());
  if (where.plugin) {
    const cuda::MemoryStatistics memory = where.plugin->memory_statistics(0);
    if (!graph)  // the allocator counts a graph's memory as free
      report.number("peak_allocated_mib",
                    static_cast<double>(memory.peak_allocated_bytes) / (1 << 20));
    report.number("reserved_mib", static_cast<double>(memory.reserved_bytes) / (1 << 20));
  }
  report.number("loss", step.loss());
  report.check("finite", std::isfinite(step.loss()));
  report.check("updated", step.updated());
  return report.print();
}

}  // namespace shoal::bench

namespace {

using namespace shoal::bench;

bool run(std::vector<std::string> words) {
  const bool on_cpu = !words.empty() && words.back() == "cpu";
  if (on_cpu) words.pop_back();
  const std::string check = words.empty() ? "" : words[0];
  const auto is = [&](const char* name, size_t arguments) {
    return check == name && words.size() == arguments + 1;
  };
  if (is("plugin", 0)) return plugin_check();
  if (is("step", 1)) return step_check(place(on_cpu), words[1]);
  if (is("operations", 0)) return operations_check(place(on_cpu));
  if (is("nccl", 0)) return nccl_check();
  if (is("graph", 2)) return graph_check(words[1], words[2]);
  if (is("trace", 1)) return trace_check(words[1]);
  if (is("shared", 0)) return shared_check(place(on_cpu));
  if (is("time", 5)) return time_step(place(on_cpu), {words.begin() + 1, words.end()});
  throw std::invalid_argument("usage: see the first lines of bench/gpu/first_light.cpp");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc}) ? 0 : 1;
  } catch (const NoGpu& error) {
    std::fprintf(stderr, "gpu_first_light: %s\n", error.what());
    return 3;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gpu_first_light: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_first_light: %s\n", error.what());
    return 1;
  }
}
