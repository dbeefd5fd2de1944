// What LibTorch and shoal's own operations do on a GPU, checked, and the step's speed there.
// bench/gpu_first_light.sh runs all of it.
//
//   gpu_first_light plugin                    the plug-in opens before anything asks for CUDA
//   gpu_first_light step MODEL                two updates against the CPU's, in double, float, bf16
//   gpu_first_light operations                batch preparation, optimizers, average: against the
//                                             plain loops
//   gpu_first_light nccl                      a Reducer's step over NCCL in a world of one
//   gpu_first_light graph MODEL f32|bf16      five updates as a CUDA graph, equal to eager ones; its
//                                             memory
//   gpu_first_light trace FILE                a Kineto trace of a step, with kernels
//   gpu_first_light shared                    one of two processes (torchrun's variables) that train
//                                             on GPU 0 over Gloo
//   gpu_first_light time MODEL SIZE BATCH f32|bf16|f16 eager|graph
//                                             images/s of a step on synthetic pictures, no masks
//
// Prints one JSON object each; status 1 when a check failed, 3 without a usable GPU. With a last
// word `cpu`, step, operations, shared and time run on the CPU: to try the program itself.

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "bench/synthetic_step.h"
#include "dist/connect.h"
#include "train/cuda/open.h"

namespace {

using namespace shoal;
using bench::StepOptions;
using bench::SyntheticStep;

struct NoGpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One flat JSON object, whose member "ok" tells whether every check held.
class Report {
 public:
  explicit Report(const std::string& name) { text("check", name); }
  void text(const std::string& key, const std::string& value) { raw(key, '"' + value + '"'); }
  void number(const std::string& key, double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    raw(key, std::isfinite(value) ? digits : "null");
  }
  void check(const std::string& key, bool good) {
    raw(key, good ? "true" : "false");
    good_ &= good;
  }
  // Also remembers whether it is small enough; what is not a number is not.
  void below(const std::string& key, double value, double limit) {
    number(key, value);
    good_ &= value <= limit;
  }
  bool print() {
    std::printf("{%s, \"ok\": %s}\n", members_.c_str(), good_ ? "true" : "false");
    return good_;
  }

 private:
  void raw(const std::string& key, const std::string& value) {
    members_ += (members_.empty() ? "\"" : ", \"") + key + "\": " + value;
  }
  std::string members_;
  bool good_ = true;
};

const cuda::Plugin& open_gpu() {
  const cuda::Plugin& plugin = train::cuda_plugin();
  char reason[256] = "";
  if (plugin.device_count(reason, sizeof reason) == 0) throw NoGpu(reason);
  plugin.set_device(0);
  return plugin;
}

struct Place {
  at::Device device = at::kCPU;
  const cuda::Plugin* plugin = nullptr;
  void synchronize() const {
    if (plugin) plugin->synchronize();
  }
};

Place place(bool on_cpu) {
  if (on_cpu) return {};
  return {at::Device(at::kCUDA, 0), &open_gpu()};
}

// So that two runs of the same step are the same.
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

bool plugin_check() {
  Report report("plugin");
  const cuda::Plugin& plugin = open_gpu();  // nothing has asked LibTorch for CUDA so far
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

bool step_check(const Place& where, const std::string& model) {
  Report report("step " + model);
  compute_exactly();
  StepOptions options;
  options.model = model;
  options.batch = 8;
  options.size = 64;
  options.type = at::kDouble;
  SyntheticStep want(options);
  options.device = where.device;
  SyntheticStep exact(options);
  want.enqueue(), exact.enqueue();
  report.below("f64_loss", std::abs(exact.loss() / want.loss() - 1), 1e-10);
  report.below("f64_gradients",
               relative_difference(exact.parameters().gradients(), want.parameters().gradients()),
               1e-8);
  report.below("f64_statistics",
               relative_difference(exact.statistics().running(), want.statistics().running()),
               1e-10);
  const at::Tensor gradients = want.parameters().gradients().to(at::kCPU).clone();
  want.enqueue(), exact.enqueue();
  report.below("f64_parameters_after_two",
               relative_difference(exact.parameters().flat(), want.parameters().flat()), 1e-8);
  options.type = at::kFloat;
  SyntheticStep plain(options);
  plain.differentiate();
  report.below("f32_gradients", relative_difference(plain.parameters().gradients(), gradients),
               1e-3);
  options.copy_type = at::kBFloat16;
  SyntheticStep narrow(options);
  narrow.differentiate();
  report.below("bf16_gradients", relative_difference(narrow.parameters().gradients(), gradients),
               0.5);
  report.below("bf16_loss", std::abs(narrow.loss() - plain.loss()), 0.05);
  return report.print();
}

// The same operation on two devices' copies of the same memory.
bool operations_check(const Place& where) {
  Report report("operations");
  at::manual_seed(3);
  const ops::Table& table = where.plugin ? *ops::gpu() : ops::cpu();
  void* const stream = models::stream_of(where.device);

  constexpr int64_t kPictures = 4, kSide = 33, kValues = kSide * kSide * 3;
  const at::Tensor images =
      at::randint(0, 256, {kPictures, kSide, kSide, 3}, at::TensorOptions().dtype(at::kByte));
  std::vector<ops::MixRow> rows(kPictures);
  rows[0] = {.partner = 1, .lambda = 0.75F};
  rows[1] = {.partner = 3, .lambda = 1, .box = {2, 1, 25, 14}};
  for (size_t i = 2; i < 4; ++i) {
    rows[i] = {.partner = static_cast<int32_t>(i), .erase = {{3, 4, 20, 30}}, .erased = 1};
    rows[i].erase_fill = i == 2 ? ops::EraseFill::color : ops::EraseFill::noise;
    rows[i].erase_key = 5;
  }
  const at::Tensor mix =
      at::from_blob(rows.data(), {static_cast<int64_t>(rows.size() * sizeof(ops::MixRow))},
                    at::TensorOptions().dtype(at::kByte));
  const auto prepare = [&](const ops::Table& by, at::Device device, void* on) {
    const at::Tensor in = images.to(device), how = mix.to(device);
    at::Tensor out = at::zeros({kPictures * kValues}, at::TensorOptions().device(device));
    ops::PrepareBatch op{in.const_data_ptr<uint8_t>(),
                         static_cast<const ops::MixRow*>(how.const_data_ptr()),
                         out.mutable_data_ptr(),
                         ops::Type::f32,
                         kPictures,
                         kSide,
                         kSide,
                         {0.485F, 0.456F, 0.406F},
                         {0.229F, 0.224F, 0.225F}};
    by.prepare_batch(op, on);
    where.synchronize();
    return out.to(at::kCPU);
  };
  report.below("prepare_batch",
               relative_difference(prepare(table, where.device, stream),
                                   prepare(ops::reference(), at::kCPU, nullptr)),
               1e-6);

  using Kind = train::OptimizerOptions::Kind;
  for (const auto& [kind, name] :
       {std::pair{Kind::sgd, "sgd"}, {Kind::rmsprop, "rmsprop"}, {Kind::adamw, "adamw"}}) {
    StepOptions options;
    options.model = "resnet18";
    options.batch = 4;
    options.size = 32;
    options.type = at::kDouble;
    options.optimizer.kind = kind;
    options.optimizer.clip = 0.5;
    SyntheticStep want(options);
    options.device = where.device;
    SyntheticStep got(options);
    for (int i = 0; i < 3; ++i) want.enqueue(), got.enqueue();
    report.below(name, relative_difference(got.parameters().flat(), want.parameters().flat()),
                 1e-8);
  }

  at::Tensor average = at::rand({1000}), parameters = at::rand({1000});
  at::Tensor on_device = average.to(where.device, average.scalar_type(), false, /*copy=*/true);
  const at::Tensor from = parameters.to(where.device);
  ops::reference().ema(ops::Type::f32, average.mutable_data_ptr(), parameters.const_data_ptr(),
                       1000, 0.9, nullptr, nullptr);
  table.ema(ops::Type::f32, on_device.mutable_data_ptr(), from.const_data_ptr(), 1000, 0.9, nullptr,
            stream);
  where.synchronize();
  report.below("ema", relative_difference(on_device, average), 1e-6);
  return report.print();
}

bool nccl_check() {
  Report report("nccl");
  const Place where = place(false);
  compute_exactly();
  StepOptions options;
  options.model = "resnet18";
  options.batch = 8;
  options.size = 64;
  options.device = where.device;
  SyntheticStep alone(options), reduced(options);
  alone.differentiate();

  auto store = c10::make_intrusive<c10d::HashStore>();
  auto nccl = c10::intrusive_ptr<c10d::Backend>::reclaim(
      where.plugin->nccl.make(store.get(), 0, 1, 0, 60'000, "first light"));
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, 0, 1);
  group->setBoundDeviceId(where.device);
  group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  {
    const std::vector<at::Tensor> parameters = reduced.parameters().tensors();
    const std::vector<bool> sparse(parameters.size(), false);
    constexpr size_t kFirst = 1 << 20, kOthers = 25 << 20;
    auto [buckets, limits] =
        c10d::compute_bucket_assignment_by_size(parameters, {kFirst, kOthers}, sparse);
    std::reverse(buckets.begin(), buckets.end());
    c10d::Reducer reducer(parameters, buckets, group, sparse, kOthers, false, false, {}, kFirst,
                          false, false, {});
    for (int i = 0; i < 2; ++i) {  // the second one after the buckets were made anew
      reducer.prepare_for_forward();
      reducer.rebuild_buckets();
      reducer.prepare_for_backward({});
      reduced.differentiate();
    }
    where.synchronize();
    report.number("buckets", static_cast<double>(buckets.size()));
    report.below(
        "gradients",
        relative_difference(reduced.parameters().gradients(), alone.parameters().gradients()),
        1e-6);
  }
  group.reset();
  where.plugin->nccl.shutdown(nccl.get());
  nccl.reset();
  report.check("closed", true);
  return report.print();
}

// The body of a graph: a step.
void enqueue(void* step) {
  static_cast<SyntheticStep*>(step)->enqueue();
}

StepOptions gpu_options(const Place& where, const std::string& model, const std::string& type) {
  StepOptions options;
  options.model = model;
  options.device = where.device;
  options.masks = false;  // they are made on the host
  if (type == "bf16") options.copy_type = at::kBFloat16;
  if (type == "f16") options.copy_type = at::kHalf;
  if (type != "f32" && !options.copy_type)
    throw std::invalid_argument("'" + type + "' must be f32, bf16 or f16");
  return options;
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
  cuda::Graph* graph = where.plugin->record(enqueue, &recorded, 3);
  report.number("mib_with_graph", reserved());
  for (int i = 0; i < 5; ++i) where.plugin->replay(graph);
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
  where.plugin->destroy(graph);
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
  report.check("has_ours", count("call_for_index") > 10);
  return report.print();
}

bool shared_check(const Place& where) {
  compute_exactly();
  const dist::Env env = dist::this_worker(dist::environment());
  Report report("shared, rank " + std::to_string(env.rank));
  dist::ConnectOptions connection;
  connection.backend = dist::Backend::gloo;
  connection.use_cuda = where.plugin != nullptr;
  dist::Communicator world = dist::connect(env, connection);
  if (world.size() != 2) throw std::invalid_argument("shared is one of two: set RANK and so on");
  at::Tensor sum = at::ones({1000}, where.device) * (env.rank + 1);
  world.main.all_reduce_sum(sum);
  report.check("all_reduce", sum.sum().item<float>() == 3000);
  at::Tensor one = at::ones({1000}, where.device) * (env.rank + 1);
  world.main.broadcast(one, 1);
  report.check("broadcast", one.sum().item<float>() == 2000);

  StepOptions options;
  options.model = "resnet18";
  options.batch = 8;
  options.size = 64;
  options.device = where.device;
  options.pictures =
      static_cast<uint64_t>(env.rank);  // so gradients differ before they are averaged
  {
    SyntheticStep step(options);
    step.average_over(world.main);
    for (int i = 0; i < 3; ++i) step.enqueue();
    at::Tensor mine = step.parameters().flat().detach().to(at::kCPU).clone();
    at::Tensor first = mine.clone();
    world.control.broadcast(first, 0);
    report.check("equal_parameters", mine.equal(first));
    SyntheticStep alone(options);
    for (int i = 0; i < 3; ++i) alone.enqueue();
    report.check("averaged", relative_difference(alone.parameters().flat(), mine) > 1e-6);
  }
  world.shutdown();
  return report.print();
}

int64_t count_of(const std::string& word) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc() || end != word.data() + word.size() || count < 1)
    throw std::invalid_argument("'" + word + "' must be a number of 1 or more");
  return count;
}

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
  cuda::Graph* graph = nullptr;
  if (way == "graph" && where.plugin) {
    graph = where.plugin->record(enqueue, &step, 3);
  } else {
    for (int i = 0; i < 3; ++i) step.enqueue();
  }
  const auto run = [&] { graph ? where.plugin->replay(graph) : step.enqueue(); };
  run();
  where.synchronize();
  report.number("warm_up_seconds", seconds_since(begin));
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
    report.number("peak_allocated_mib",
                  static_cast<double>(memory.peak_allocated_bytes) / (1 << 20));
    report.number("reserved_mib", static_cast<double>(memory.reserved_bytes) / (1 << 20));
  }
  report.number("loss", step.loss());
  report.check("finite", std::isfinite(step.loss()));
  if (graph) where.plugin->destroy(graph);
  return report.print();
}

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
  throw std::invalid_argument("usage: see the first lines of bench/gpu_first_light.cpp");
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
