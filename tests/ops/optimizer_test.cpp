// Compares the optimizers with PyTorch and timm (tests/golden/scripts/make_optimizers.py), and LAMB
// with numpy (make_lamb.py). Compares the fast loops with the plain loops bit for bit, because both
// do the same operations in the same order.

#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ops/cuda/table.h"
#include "ops/ops.h"

namespace {

using shoal::ops::OptimizerStep;
using shoal::ops::Segment;
using shoal::ops::Table;
using shoal::ops::Type;

constexpr double kGoldenDecay = 1.0 / 128;
constexpr int kGoldenSteps = 20;

using Kind = shoal::ops::OptimizerKind;

struct Settings {
  Kind kind = Kind::sgd;
  double momentum = 0;
  bool nesterov = false;
  double clip = 0;
  double beta1 = 0.9, beta2 = 0.999;
};

const std::map<std::string, Settings> kCases = {
    {"sgd_plain", {Kind::sgd}},
    {"sgd_momentum", {Kind::sgd, 0.9}},
    {"sgd_nesterov_clip", {Kind::sgd, 0.9, true, 2.5}},
    {"rmsprop_plain", {Kind::rmsprop}},
    {"rmsprop_momentum", {Kind::rmsprop, 0.9}},
    {"rmsprop_momentum_clip", {Kind::rmsprop, 0.9, false, 2.5}},
    {"rmsprop_torch_plain", {Kind::rmsprop_torch}},
    {"rmsprop_torch_momentum_clip", {Kind::rmsprop_torch, 0.9, false, 2.5}},
    {"adamw", {Kind::adamw}},
    {"adamw_clip", {Kind::adamw, 0, false, 2.5, 0.8, 0.99}},
    {"adam", {Kind::adam}},
    {"adam_clip", {Kind::adam, 0, false, 2.5, 0.8, 0.99}},
};
const std::map<std::string, Settings> kLambCases = {
    {"lamb", {Kind::lamb}},
    {"lamb_clip", {Kind::lamb, 0, false, 2.5, 0.8, 0.99}},
};

std::map<std::string, Settings> all_cases() {
  std::map<std::string, Settings> all = kCases;
  all.insert(kLambCases.begin(), kLambCases.end());
  return all;
}

double start(int i) {
  return std::sin(0.37 * i + 0.5);
}
double gradient(int i, int step) {
  return 0.8 * std::sin(0.7 * i + 1.3 * step + 1.0) * (1 + 0.2 * step);
}
double rate(int step) {
  return 0.05 * (1 + 0.5 * std::sin(0.9 * step));
}

template <typename T>
constexpr Type type_of() {
  return sizeof(T) == 8 ? Type::f64 : Type::f32;
}

// The flat buffers of one run.
template <typename T>
struct Buffers {
  std::vector<Segment> segments;
  std::vector<T> parameters, gradients, state1, state2, average;
  std::vector<uint16_t> copy;
  double norm = 0;
  int32_t non_finite = 0;

  Buffers(std::vector<Segment> table, int64_t total, Kind kind)
      : segments(std::move(table)),
        parameters(total),
        gradients(total),
        state1(total, static_cast<T>(info_of(kind).states[0].initial)),
        state2(total, static_cast<T>(info_of(kind).states[1].initial)),
        average(total),
        copy(total) {}

  void update(const Table& table, const Settings& settings, double lr, int64_t number) {
    const auto total = static_cast<int64_t>(parameters.size());
    table.gradient_norm(type_of<T>(), gradients.data(), total, &norm, &non_finite, nullptr);
    const shoal::ops::OptimizerInfo& info = info_of(settings.kind);
    OptimizerStep step{};
    step.kind = settings.kind;
    step.segments = segments.data();
    step.segment_count = static_cast<int64_t>(segments.size());
    step.total = total;
    step.type = type_of<T>();
    step.parameters = parameters.data();
    step.gradients = gradients.data();
    step.copy = copy.data();
    if (info.has_state(0, settings.momentum)) step.state[0] = state1.data();
    if (info.has_state(1, settings.momentum)) step.state[1] = state2.data();
    step.gradient_norm = settings.clip > 0 ? &norm : nullptr;
    step.clip = settings.clip;
    step.non_finite = &non_finite;
    step.lr = lr;
    step.step = number;
    step.momentum = settings.momentum;
    step.nesterov = settings.nesterov;
    step.alpha = 0.9;
    step.beta1 = settings.beta1;
    step.beta2 = settings.beta2;
    step.eps = info.eps;
    table.optimize(step, nullptr);
    table.ema(step.type, average.data(), parameters.data(), total, 0.9, &non_finite, nullptr);
  }
};

using Golden = std::map<std::string, std::vector<double>>;  // "CASE TYPE STEP WHAT" -> values

Golden read_golden(const std::string& name) {
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/" + name);
  Golden golden;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string test_case, type, step, what;
    words >> test_case >> type >> step >> what;
    std::vector<double>& values = golden[test_case + " " + type + " " + step + " " + what];
    for (double value; words >> value;) values.push_back(value);
  }
  return golden;
}

template <typename T>
void compare(const Golden& golden, const std::string& key, const T* values, double tolerance,
             size_t stride = 1) {
  INFO(key);
  REQUIRE(golden.count(key) == 1);
  const std::vector<double>& wanted = golden.at(key);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double value = values[i * stride];
    CHECK(std::abs(value - wanted[i]) <= tolerance * std::max(1.0, std::abs(wanted[i])));
  }
}

template <typename T>
void compare_with_golden(const Table& table, const std::string& type_name, double tolerance) {
  static const Golden golden = read_golden("optimizers.txt");
  // 20 values with weight decay, 12 of padding, 5 values without weight decay, 11 of padding.
  const std::vector<Segment> segments = {{0, 20, 1, static_cast<float>(kGoldenDecay)},
                                         {32, 5, 1, 0}};
  for (const auto& [name, settings] : kCases) {
    Buffers<T> run(segments, 48, settings.kind);
    const auto slot = [](int i) { return i < 20 ? i : i + 12; };
    for (int i = 0; i < 25; ++i) run.parameters[slot(i)] = static_cast<T>(start(i));
    run.average = run.parameters;
    for (int step = 0; step < kGoldenSteps; ++step) {
      for (int i = 0; i < 25; ++i) run.gradients[slot(i)] = static_cast<T>(gradient(i, step));
      run.update(table, settings, rate(step), step + 1);
      const int made = step + 1;
      if (made != 1 && made != 5 && made != kGoldenSteps) continue;
      const std::string key = name + " " + type_name + " " + std::to_string(made) + " ";
      compare(golden, key + "weight", run.parameters.data(), tolerance);
      compare(golden, key + "bias", run.parameters.data() + 32, tolerance);
      compare(golden, key + "norm", &run.norm, tolerance);
      compare(golden, key + "ema_weight", run.average.data(), tolerance);
    }
    for (int i = 20; i < 48; ++i) {
      if (i >= 32 && i < 37) continue;
      INFO("padding at " << i);
      CHECK(run.parameters[i] == 0);
      CHECK(run.copy[i] == 0);
    }
  }
}

// Compares LAMB with lamb.txt. `tensors` repeats TENSORS of make_lamb.py.
template <typename T>
void compare_lamb_with_golden(const Table& table, const std::string& type_name, double tolerance) {
  static const Golden golden = read_golden("lamb.txt");
  constexpr int kLambSteps = 5;
  struct Tensor {
    const char* name;
    Segment segment;
    double start_factor;
    size_t stride;  // the file has every stride-th value
  };
  const Tensor tensors[] = {{"weight", {0, 20, 1, 1 / 128.0F}, 1, 1},
                            {"bias", {32, 5, 1, 0}, 1, 1},
                            {"large", {48, 9990, 0.5F, 1 / 32.0F}, 3, 499},
                            {"zero", {10048, 16, 1, 1 / 128.0F}, 0, 1}};
  std::vector<Segment> segments;
  for (const Tensor& tensor : tensors) segments.push_back(tensor.segment);
  for (const auto& [name, settings] : kLambCases) {
    Buffers<T> run(segments, 10064, settings.kind);
    const auto fill = [&](std::vector<T>& buffer, auto value) {
      for (const Tensor& tensor : tensors)
        for (int i = 0; i < tensor.segment.length; ++i)
          buffer[tensor.segment.offset + i] = static_cast<T>(value(tensor, i));
    };
    fill(run.parameters, [](const Tensor& t, int i) { return t.start_factor * start(i); });
    for (int step = 0; step < kLambSteps; ++step) {
      fill(run.gradients, [&](const Tensor&, int i) { return gradient(i, step); });
      run.update(table, settings, rate(step), step + 1);
      for (const Tensor& tensor : tensors) {
        const std::string key = name + " " + type_name + " " + std::to_string(step + 1) + " ";
        INFO(table.name);
        compare(golden, key + tensor.name, run.parameters.data() + tensor.segment.offset, tolerance,
                tensor.stride);
      }
    }
  }
}

// Buffers with many segments of odd lengths, large enough for several threads.
template <typename T>
Buffers<T> large(Kind kind) {
  std::vector<Segment> segments;
  int64_t end = 0;
  for (int64_t length : {32, 1, 17, 40000, 8, 5000, 12345, 3, 30001, 16}) {
    segments.push_back({end, length, 1.0f + 0.125f * static_cast<float>(segments.size()),
                        segments.size() % 2 ? 0.0f : 0.01f});
    end += (length + 15) / 16 * 16;
  }
  Buffers<T> run(segments, end, kind);
  uint64_t random = 1;
  const auto next = [&random] {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(random >> 11) / 9007199254740992.0 - 0.5;
  };
  for (const Segment& segment : segments) {
    for (int64_t i = segment.offset; i < segment.offset + segment.length; ++i) {
      run.parameters[i] = static_cast<T>(next());
      run.gradients[i] = static_cast<T>(next());
    }
  }
  return run;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
bool nearly_equal(const std::vector<T>& a, const std::vector<T>& b, double tolerance) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return a.size() == b.size();
}

template <typename T>
void compare_implementations(const Table& table) {
  for (const auto& [name, settings] : all_cases()) {
    Buffers<T> plain = large<T>(settings.kind), fast = plain;
    for (int step = 0; step < 3; ++step) {
      plain.update(shoal::ops::reference(), settings, 0.1, step + 1);
      fast.update(table, settings, 0.1, step + 1);
      INFO(table.name << " " << name << " step " << step);
      CHECK(fast.norm == Approx(plain.norm).epsilon(1e-13));
    }
    INFO(table.name << " " << name);
    if (settings.clip > 0) continue;  // clipping depends on the last bit of the norm
    CHECK(same_bits(plain.state1, fast.state1));
    CHECK(same_bits(plain.state2, fast.state2));
    if (settings.kind == Kind::lamb) {  // the sums for the trust ratio may differ in the last bit
      const double tolerance = sizeof(T) == 8 ? 1e-14 : 1e-6;
      CHECK(nearly_equal(plain.parameters, fast.parameters, tolerance));
      CHECK(nearly_equal(plain.average, fast.average, tolerance));
      continue;
    }
    CHECK(same_bits(plain.parameters, fast.parameters));
    CHECK(same_bits(plain.average, fast.average));
    CHECK(same_bits(plain.copy, fast.copy));
  }
}

}  // namespace

TEST_CASE("twenty steps of each optimizer equal PyTorch's and timm's in float64") {
  compare_with_golden<double>(shoal::ops::reference(), "f64", 1e-13);
  compare_with_golden<double>(shoal::ops::cpu(), "f64", 1e-13);
  compare_with_golden<double>(shoal::ops::cuda_twin(), "f64", 1e-13);
}

TEST_CASE("twenty steps of each optimizer equal PyTorch's and timm's in float32") {
  compare_with_golden<float>(shoal::ops::reference(), "f32", 2e-6);
  compare_with_golden<float>(shoal::ops::cpu(), "f32", 2e-6);
  compare_with_golden<float>(shoal::ops::cuda_twin(), "f32", 2e-6);
}

TEST_CASE("five steps of LAMB equal an independent implementation's") {
  for (const Table* table :
       {&shoal::ops::reference(), &shoal::ops::cpu(), &shoal::ops::cuda_twin()}) {
    compare_lamb_with_golden<double>(*table, "f64", 1e-13);
    compare_lamb_with_golden<float>(*table, "f32", 2e-6);
  }
}

TEST_CASE("a step of LAMB has the same bits with any number of threads") {
  const int before = omp_get_max_threads();
  std::vector<std::vector<double>> results;  // in double, so that a changed bit in a sum is visible
#ifdef __SANITIZE_THREAD__  // this sanitizer does not know OpenMP's synchronization
  const int counts[] = {1, 1, 1};
#else
  const int counts[] = {1, 2, 3};
#endif
  for (int threads : counts) {
    omp_set_num_threads(threads);
    Buffers<double> run({{0, 100003, 1, 0.01f}}, 100016, Kind::lamb);
    for (int i = 0; i < 100003; ++i) {
      run.parameters[i] = start(i);
      run.gradients[i] = gradient(i, 0);
    }
    run.update(shoal::ops::cpu(), {Kind::lamb}, 0.1, 1);
    results.push_back(run.parameters);
  }
  omp_set_num_threads(before);
  CHECK(same_bits(results[0], results[1]));
  CHECK(same_bits(results[0], results[2]));
}

TEST_CASE("the fast loops of the optimizers equal the plain loops bit for bit", "[slow]") {
  for (const Table* table : {&shoal::ops::cpu(), &shoal::ops::cuda_twin()}) {
    compare_implementations<float>(*table);
    compare_implementations<double>(*table);
  }
}

TEST_CASE("a non-finite gradient is detected and changes nothing") {
  for (const Table* table :
       {&shoal::ops::reference(), &shoal::ops::cpu(), &shoal::ops::cuda_twin()}) {
    for (float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (const auto& [name, settings] : all_cases()) {
        INFO(table->name << " " << name << " " << bad);
        Buffers<float> run = large<float>(settings.kind);
        const Buffers<float> before = run;
        run.gradients[70000] = bad;
        run.update(*table, settings, 0.1, 1);
        CHECK(run.non_finite == 1);
        CHECK(same_bits(run.parameters, before.parameters));
        CHECK(same_bits(run.state1, before.state1));
        CHECK(same_bits(run.state2, before.state2));
        CHECK(same_bits(run.average, before.average));
        CHECK(same_bits(run.copy, before.copy));
        run.gradients[70000] = 0;
        run.update(*table, settings, 0.1, 1);
        CHECK(run.non_finite == 1);  // stays set until the host resets it
      }
    }
  }
}

TEST_CASE("a finite gradient whose square overflows a float counts as finite") {
  for (const Table* table :
       {&shoal::ops::reference(), &shoal::ops::cpu(), &shoal::ops::cuda_twin()}) {
    std::vector<float> gradients(64, 1e30f);
    double norm = 0;
    int32_t non_finite = 0;
    table->gradient_norm(Type::f32, gradients.data(), 64, &norm, &non_finite, nullptr);
    CHECK(norm == Approx(8e30).epsilon(1e-6));
    CHECK(non_finite == 0);
  }
}

TEST_CASE("copies in bf16 round to nearest even") {
  const std::vector<float> values = {1.0f, 1.00390625f, 1.01171875f, -1.00390625f, 3.4e38f};
  const std::vector<uint16_t> wanted = {0x3f80, 0x3f80, 0x3f82, 0xbf80, 0x7f80};
  for (const Table* table :
       {&shoal::ops::reference(), &shoal::ops::cpu(), &shoal::ops::cuda_twin()}) {
    Buffers<float> run({{0, 5, 1, 0}}, 16, Kind::sgd);
    std::copy(values.begin(), values.end(), run.parameters.begin());
    run.update(*table, {Kind::sgd}, 0.0, 1);
    for (size_t i = 0; i < wanted.size(); ++i) CHECK(run.copy[i] == wanted[i]);
  }
}
