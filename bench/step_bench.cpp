// Times training steps of one model on synthetic pictures: forward, loss, backward, gradient norm,
// optimizer, statistics. One line of JSON on stdout. bench/step runs it beside PyTorch; see there
// for what is compared.
//
//   step_bench [--model NAME] [--batch N] [--size PIXELS] [--threads N] [--warmup STEPS]
//              [--steps STEPS] [--amp off|bf16] [--allocator on|off]

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/functions.h"
#include "models/model.h"
#include "train/allocator.h"
#include "train/flat_parameters.h"
#include "train/flat_statistics.h"
#include "train/optimizer.h"

namespace {

using Settings = std::map<std::string, std::string>;

Settings parse(int argc, char** argv) {
  Settings settings = {{"model", "efficientnet_b0"},
                       {"batch", "32"},
                       {"size", "224"},
                       {"threads", "2"},
                       {"warmup", "3"},
                       {"steps", "8"},
                       {"amp", "off"},
                       {"allocator", "on"}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || settings.count(name.substr(2)) == 0 || i + 1 == argc) {
      throw std::invalid_argument("do not understand '" + name +
                                  "'; see the top of step_bench.cpp");
    }
    settings[name.substr(2)] = argv[i + 1];
  }
  return settings;
}

class Bench {
 public:
  explicit Bench(const Settings& s)
      : batch_(std::stoll(s.at("batch"))),
        model_(make_model(s)),
        parameters_(*model_, flat_options(s)),
        statistics_(*model_, at::kFloat, at::kCPU),
        optimizer_(shoal::train::OptimizerOptions{}, parameters_),
        keys_(static_cast<size_t>(batch_)) {
    const int64_t size = std::stoll(s.at("size"));
    images_ = at::randn({batch_, 3, size, size}).contiguous(at::MemoryFormat::ChannelsLast);
    if (s.at("amp") == "bf16") images_ = images_.to(at::kBFloat16);
    labels_.a = at::arange(batch_, at::kInt).mul(31).remainder(1000);
    std::iota(keys_.begin(), keys_.end(), uint64_t{1});
    model_->train(true);
  }

  double step(int64_t number) {  // returns the mean loss
    parameters_.zero_gradients();
    shoal::models::StepContext context;
    context.keys = keys_.data();
    context.step = number;
    const at::Tensor logits = model_->forward(images_, context);
    const auto result =
        shoal::models::cross_entropy(logits, labels_, 0.1, 1.0 / static_cast<double>(batch_));
    result.loss.backward();
    const at::NoGradGuard no_grad;
    measure_gradients(parameters_, norm_, non_finite_);
    optimizer_.step(0.01, norm_, non_finite_);
    statistics_.commit(1, non_finite_);
    return result.loss_sum.item<double>() / static_cast<double>(batch_);
  }

 private:
  static std::unique_ptr<shoal::models::Classifier> make_model(const Settings& s) {
    shoal::models::ModelOptions options;
    options.name = s.at("model");
    return shoal::models::create(options);
  }
  static shoal::train::FlatOptions flat_options(const Settings& s) {
    shoal::train::FlatOptions options;
    options.weight_decay = 1e-5;
    if (s.at("amp") == "bf16") options.copy_type = at::kBFloat16;
    return options;
  }

  int64_t batch_;
  std::unique_ptr<shoal::models::Classifier> model_;
  shoal::train::FlatParameters parameters_;
  shoal::train::FlatStatistics statistics_;
  shoal::train::Optimizer optimizer_;
  std::vector<uint64_t> keys_;
  at::Tensor images_;
  shoal::models::Labels labels_;
  at::Tensor norm_ = at::zeros({1}, at::kDouble), non_finite_ = at::zeros({1}, at::kInt);
};

void run(const Settings& s) {
  if (s.at("allocator") == "on") shoal::train::install_allocator();
  at::set_num_threads(std::stoi(s.at("threads")));
  Bench bench(s);
  const int64_t warmup = std::stoll(s.at("warmup")), steps = std::stoll(s.at("steps"));
  std::string times;
  double loss = 0;
  rusage before{}, after{};
  for (int64_t i = 0; i < warmup + steps; ++i) {
    if (i == warmup) getrusage(RUSAGE_SELF, &before);
    const auto start = std::chrono::steady_clock::now();
    loss = bench.step(i);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (i >= warmup) times += (times.empty() ? "" : ", ") + std::to_string(seconds.count());
  }
  getrusage(RUSAGE_SELF, &after);
  const auto memory = shoal::train::allocator_statistics();
  std::printf(
      "{\"loss\": %.6f, \"peak_rss_mb\": %ld, \"faults_per_step\": %ld, \"system_allocations\": "
      "%llu, "
      "\"seconds\": [%s]}\n",
      loss, after.ru_maxrss / 1024, (after.ru_minflt - before.ru_minflt) / steps,
      static_cast<unsigned long long>(memory.system_allocations), times.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
