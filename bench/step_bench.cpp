// Times training steps of one model on synthetic images (forward, loss, backward, gradient norm,
// optimizer, statistics) or evaluations of a batch. Prints one line of JSON. bench/step compares it
// with PyTorch.
//
//   step_bench [--model NAME] [--batch N] [--size PIXELS] [--threads N] [--warmup STEPS]
//              [--steps STEPS] [--amp off|bf16] [--allocator on|off]
//              [--kernels auto|reference|fused] [--mode train|eval] [--isa native|avx2]
//
// --allocator off: LibTorch's CPU allocator instead of shoal's (train/step/allocator.h).

#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>

#include "base/processor.h"
#include "bench/synthetic_step.h"
#include "train/step/allocator.h"

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
                       {"allocator", "on"},
                       {"kernels", "auto"},
                       {"mode", "train"},
                       {"isa", "native"}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || settings.count(name.substr(2)) == 0 || i + 1 == argc) {
      throw std::invalid_argument("unknown option '" + name + "'; see the top of step_bench.cpp");
    }
    settings[name.substr(2)] = argv[i + 1];
  }
  return settings;
}

void require_one_of(const Settings& s, const std::string& name,
                    std::initializer_list<const char*> values) {
  for (const char* value : values)
    if (s.at(name) == value) return;
  throw std::invalid_argument("--" + name + " " + s.at(name) + "; see the top of step_bench.cpp");
}

void check(const Settings& s) {
  require_one_of(s, "amp", {"off", "bf16"});
  require_one_of(s, "allocator", {"on", "off"});
  require_one_of(s, "kernels", {"auto", "reference", "fused"});
  require_one_of(s, "mode", {"train", "eval"});
  require_one_of(s, "isa", {"native", "avx2"});
  if (std::stoll(s.at("steps")) < 1) throw std::invalid_argument("--steps must be at least 1");
}

shoal::bench::StepOptions step_options(const Settings& s) {
  shoal::bench::StepOptions options;
  options.model = s.at("model");
  options.batch = std::stoll(s.at("batch"));
  options.size = std::stoll(s.at("size"));
  if (s.at("kernels") == "reference") options.kernels = shoal::models::Kernels::reference;
  if (s.at("kernels") == "fused") options.kernels = shoal::models::Kernels::fused;
  if (s.at("amp") == "bf16") options.copy_type = at::kBFloat16;
  return options;
}

void run(const Settings& s) {
  check(s);
  if (s.at("isa") == "avx2") shoal::hold_to_avx2();
  if (s.at("allocator") == "on") shoal::train::install_allocator();
  at::set_num_threads(std::stoi(s.at("threads")));
  shoal::bench::SyntheticStep step(step_options(s));
  const int64_t warmup = std::stoll(s.at("warmup")), steps = std::stoll(s.at("steps"));
  std::string times;
  double loss = 0;
  const bool evaluates = s.at("mode") == "eval";
  rusage before{}, after{};
  for (int64_t i = 0; i < warmup + steps; ++i) {
    if (i == warmup) getrusage(RUSAGE_SELF, &before);
    const auto start = std::chrono::steady_clock::now();
    if (evaluates) {
      step.evaluate();
    } else {
      step.enqueue();
      loss = step.loss();
    }
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
