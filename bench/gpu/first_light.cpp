// Checks LibTorch and shoal's operations on a GPU. Run by bench/gpu_first_light.sh and, if there is
// a GPU, by ctest.
//
//   gpu_first_light plugin                    opens the plug-in before any other use of CUDA
//   gpu_first_light step MODEL                compares with the CPU: two steps in f64, and the
//                                             gradients in f32 and in bf16
//   gpu_first_light operations                compares batch preparation and EMA with the reference
//                                             implementation, and the optimizers with the CPU's
//   gpu_first_light nccl                      averages a step's gradients over NCCL with one rank
//   gpu_first_light graph MODEL f32|bf16      compares five steps of a CUDA graph with eager steps,
//                                             and reports memory
//   gpu_first_light trace FILE                writes a Kineto trace of a step, with CUDA kernels
//   gpu_first_light shared                    trains as one of two ranks that share GPU 0, over
//                                             Gloo; reads torchrun's environment variables
//
// Prints one JSON object. Exit status: 0 if all checks passed, 2 for wrong arguments, 3 if there is
// no usable GPU, else 1. With `cpu` as the last argument, step, operations and shared run on the
// CPU, to test this program.

#include "bench/gpu/first_light.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

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
  if (type == "bf16") options.copy_type = at::kBFloat16;
  if (type != "f32" && !options.copy_type)
    throw std::invalid_argument("'" + type + "' must be f32 or bf16");
  return options;
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
