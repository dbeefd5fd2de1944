// The fused step against the reference executor: logits, gradients and pending statistics.

#include "models/fused_step.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "models/catalogue.h"
#include "models/executor.h"
#include "models/functions.h"
#include "models/network_builder.h"
#include "models/program/plan.h"

using namespace shoal::models;

namespace {

struct Case {
  int64_t batch = 4, size = 64;
  int64_t frozen_stages = 0;
  bool freeze_norms = false;
  int64_t micro_batches = 1;
  std::string only = {};  // trains only parameters whose names begin so
};

struct Result {
  at::Tensor logits;
  std::vector<std::string> names;
  std::vector<at::Tensor> gradients, pending;  // undefined: not trained
};

// Draws weights and running statistics that no layer passes through unchanged.
void fill(Classifier& model) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(7);
  for (const ParameterSlot& slot : model.parameters()) {
    if (slot.traits.norm && slot.name.ends_with("weight"))
      slot.master->uniform_(0.5, 1.5, generator);
    else if (!slot.traits.decays)
      slot.master->normal_(0, 0.3, generator);
  }
  for (const BatchNormSlot& slot : model.batch_norms()) {
    slot.running_mean->normal_(0, 0.2, generator);
    slot.running_var->uniform_(0.5, 2, generator);
    slot.pending->normal_(0, 1, generator);
  }
}

void to_double(Classifier& model) {
  for (const ParameterSlot& slot : model.parameters())
    slot.master->set_data(slot.master->detach().to(at::kDouble));
  for (const BatchNormSlot& slot : model.batch_norms())
    for (at::Tensor* t : {slot.running_mean, slot.running_var, slot.pending})
      *t = t->to(at::kDouble);
}

Result compute(const Network& network, const Case& c, Kernels kernels, at::ScalarType type) {
  Executor model(network, 1, kernels);
  fill(model);
  if (type == at::kDouble) to_double(model);
  for (const ParameterSlot& slot : model.parameters())
    if (slot.copy && type == at::kBFloat16) *slot.copy = slot.master->detach().to(type);
  for (const ParameterSlot& slot : model.parameters())
    slot.master->set_requires_grad(slot.traits.stage >= c.frozen_stages &&
                                   !(c.freeze_norms && slot.traits.norm) &&
                                   slot.name.starts_with(c.only));
  for (const BatchNormSlot& slot : model.batch_norms())
    *slot.fixed = c.freeze_norms || slot.stage < c.frozen_stages;
  model.train(true);
  Result result;
  std::vector<uint64_t> keys(static_cast<size_t>(c.batch));
  at::Generator generator = at::detail::createCPUGenerator(3);
  for (int64_t m = 0; m < c.micro_batches; ++m) {
    const at::Tensor images =
        at::randn({c.batch, network.info.channels, c.size, c.size + m}, generator)
            .contiguous(at::MemoryFormat::ChannelsLast)
            .to(type);
    std::iota(keys.begin(), keys.end(), 1000 * m);
    StepContext context;
    context.keys = keys.data();
    context.seed = 5;
    result.logits = model.forward(images, context);
    const at::Tensor labels = at::arange(c.batch, at::kInt).remainder(network.info.classes);
    cross_entropy(result.logits, {labels, {}, {}}, 0.1, 1.0).loss.backward();
  }
  for (const ParameterSlot& slot : model.parameters()) {
    result.names.push_back(slot.name);
    result.gradients.push_back(slot.master->requires_grad() ? slot.master->grad() : at::Tensor());
  }
  for (const BatchNormSlot& slot : model.batch_norms()) result.pending.push_back(*slot.pending);
  return result;
}

// Difference relative to `want`; tensors much smaller than `scale` count as that large, because
// rounding errors of larger ones reach them.
double apart(const at::Tensor& got, const at::Tensor& want, double scale) {
  const at::Tensor exact = want.to(at::kDouble);
  const double size = std::max(exact.norm().item<double>(), scale);
  return ((got.to(at::kDouble) - exact).norm() / size).item<double>();
}

struct Difference {
  double logits = 0, gradients = 0, pending = 0;
  std::string worst;
};

Difference difference(const Result& got, const Result& want) {
  Difference d;
  d.logits = apart(got.logits, want.logits, 1e-3);
  double largest = 0;
  for (const at::Tensor& g : want.gradients)
    if (g.defined()) largest = std::max(largest, g.norm().item<double>());
  for (size_t i = 0; i < want.gradients.size(); ++i) {
    REQUIRE(got.gradients[i].defined() == want.gradients[i].defined());
    if (!want.gradients[i].defined()) continue;
    REQUIRE(got.gradients[i].sizes() == want.gradients[i].sizes());
    const double apart_by = apart(got.gradients[i], want.gradients[i], 1e-3 * largest);
    if (!(apart_by <= d.gradients)) d.worst = got.names[i];
    d.gradients = std::max(d.gradients, apart_by);
    if (apart_by != apart_by) d.gradients = 1e9;
  }
  for (size_t i = 0; i < want.pending.size(); ++i)
    d.pending = std::max(d.pending, apart(got.pending[i], want.pending[i], 1e-3));
  return d;
}

Network named(const std::string& name, double dropped = 0) {
  ModelOptions options;
  options.name = name;
  options.classes = 10;
  options.dropout = options.drop_path = dropped;
  return make_network(options);
}

// Compares with the reference in double, allowing ten times the error of the reference in float.
void check_equal(const Network& network, const Case& c) {
  const Result exact = compute(network, c, Kernels::reference, at::kDouble);
  const Difference reference =
      difference(compute(network, c, Kernels::reference, at::kFloat), exact);
  const Difference fused = difference(compute(network, c, Kernels::fused, at::kFloat), exact);
  CAPTURE(network.info.name, c.batch, c.size, c.frozen_stages, fused.worst, reference.gradients,
          reference.worst);
  CHECK(fused.logits < 10 * reference.logits + 1e-6);
  CHECK(fused.gradients < 10 * reference.gradients + 1e-6);
  CHECK(fused.pending < 10 * reference.pending + 1e-6);
}

// Compares with the reference in double, allowing 1.5 times the error of the reference in bfloat16.
void check_bf16(const Network& network, const Case& c) {
  const Result exact = compute(network, c, Kernels::reference, at::kDouble);
  const Difference reference =
      difference(compute(network, c, Kernels::reference, at::kBFloat16), exact);
  const Difference fused = difference(compute(network, c, Kernels::fused, at::kBFloat16), exact);
  CAPTURE(network.info.name, c.batch, c.size, fused.worst, reference.worst);
  CHECK(fused.logits < 1.5 * reference.logits);
  CHECK(fused.gradients < 1.5 * reference.gradients);
  CHECK(fused.pending < 1.5 * reference.pending);
}

// A network whose channel counts are not multiples of a vector's length, with all kernels.
Network odd_network(Padding padding, shoal::ops::Activation activation) {
  NetworkBuilder b(1, 32, {1e-5, 0.1});
  b.begin_stage("stem");
  int x = b.convolution("stem", kImages, {.out = 7, .kernel = 5, .stride = 2, .padding = padding});
  x = b.norm("stem.norm", x, activation);
  int stage = 0;
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      const std::string name = "block" + std::to_string(stage++);
      b.begin_stage(name);
      x = b.convolution(name + ".depthwise", x,
                        {.out = b.shape(x).channels,
                         .kernel = kernel,
                         .stride = stride,
                         .groups = b.shape(x).channels,
                         .padding = padding});
      x = b.norm(name + ".norm", x, activation);
      if (stride == 2) x = b.squeeze_excite(name + ".squeeze", x, 3);
      x = b.convolution(name + ".project", x, {.out = 5});
      x = b.norm(name + ".project.norm", x, shoal::ops::Activation::none);
      x = b.convolution(name + ".expand", x, {.out = 19});
      x = b.norm(name + ".expand.norm", x, activation);
    }
  }
  b.begin_stage("classifier");
  x = b.pooled_features(x, 0.3);
  b.linear("classifier", x, 6, LinearInit::by_inputs);
  ModelInfo info;
  info.name = "odd";
  return b.finish(info);
}

}  // namespace

TEST_CASE("the fused step computes what the reference does", "[slow]") {
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64});
  check_equal(named("efficientnet_b0"), {.batch = 8, .size = 33});
  check_equal(named("efficientnet_lite0"), {.batch = 4, .size = 75});
}

TEST_CASE("the fused step takes one image, dropout and stochastic depth", "[slow]") {
  check_equal(named("efficientnet_b0", 0.4), {.batch = 1, .size = 97});
  check_equal(named("efficientnet_b0", 0.4), {.batch = 6, .size = 50});
  check_equal(named("efficientnet_lite1", 0.4), {.batch = 3, .size = 72});
}

TEST_CASE("the fused step in bfloat16 is as exact as the reference in it", "[slow]") {
  check_bf16(named("efficientnet_b0"), {.batch = 8, .size = 64});
  check_bf16(named("efficientnet_b0", 0.2), {.batch = 6, .size = 75, .frozen_stages = 2});
  check_bf16(named("efficientnet_lite0"), {.batch = 4, .size = 97, .micro_batches = 2});
}

TEST_CASE("the fused evaluation computes what the reference does, for each image alone") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Network network = named("efficientnet_b0", 0.2);
    Executor reference(network, 1, Kernels::reference), fused(network, 1, Kernels::fused);
    const at::NoGradGuard no_grad;
    for (Executor* model : {&reference, &fused}) {
      fill(*model);
      model->train(false);
    }
    const at::Tensor images = at::randn({5, 3, 70, 64}).to(type);
    const at::Tensor logits = fused.forward(images, {});
    const double limit = type == at::kFloat ? 1e-5 : 0.03;
    CHECK(apart(logits, reference.forward(images.to(at::kFloat), {}), 0) < limit);
    for (int64_t i = 0; i < images.size(0); ++i)
      CHECK(at::equal(fused.forward(images.slice(0, i, i + 1), {})[0], logits[i]));
    for (size_t i = 0; i < fused.batch_norms().size(); ++i)
      CHECK(at::equal(*fused.batch_norms()[i].pending, *reference.batch_norms()[i].pending));
  }
}

// A network of convolutions over all channels, with odd sizes.
Network dense_network(Padding padding, int64_t kernel) {
  using shoal::ops::Activation;
  NetworkBuilder b(3, 32, {1e-5, 0.1});
  b.begin_stage("stem");
  int x = b.convolution("stem", kImages, {.out = 9, .kernel = 7, .stride = 2, .padding = padding});
  x = b.norm("stem.norm", x, Activation::relu);
  x = b.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  int stage = 0;
  for (const int64_t stride : {1, 2}) {
    const std::string name = "block" + std::to_string(stage++);
    b.begin_stage(name);
    int shortcut = x;
    // Another number with stride 2: LibTorch's 1×1 convolution with stride 2 and equal numbers of
    // channels corrupts memory on some processors.
    const int64_t out = stride > 1 ? 20 : 9;
    x = b.convolution(name + ".first", x,
                      {.out = 21, .kernel = kernel, .stride = stride, .padding = padding});
    x = b.norm(name + ".first.norm", x, Activation::silu);
    x = b.convolution(name + ".second", x, {.out = out, .kernel = kernel, .padding = padding});
    Norm norm = b.norm_state(name + ".second.norm", out);
    norm.activation = Activation::relu;
    norm.drop = 0.3;
    norm.mask_layer = b.next_mask_layer();
    if (stride > 1) {
      shortcut = b.convolution(name + ".shortcut", shortcut,
                               {.out = out, .stride = stride, .padding = padding});
      shortcut = b.norm(name + ".shortcut.norm", shortcut, Activation::none);
    }
    x = b.norm(name + ".second.norm", x, norm, shortcut);
  }
  b.begin_stage("last");
  int last = b.convolution("last", x, {.out = 20, .kernel = 3, .padding = padding});
  Norm norm = b.norm_state("last.norm", 20);
  norm.activation = Activation::silu;
  norm.adds_last = true;
  x = b.norm("last.norm", last, norm, x);
  b.begin_stage("classifier");
  x = b.pooled_features(x, 0.3);
  b.linear("classifier", x, 6, LinearInit::by_inputs);
  ModelInfo info;
  info.name = "dense";
  return b.finish(info);
}

TEST_CASE("the fused step takes convolutions over all channels of any size") {
  for (const Padding padding : {Padding::symmetric, Padding::same}) {
    for (const int64_t kernel : {1, 3, 5}) {
      check_equal(dense_network(padding, kernel), {.batch = 3, .size = 45});
      check_equal(dense_network(padding, kernel), {.batch = 2, .size = 54});
    }
  }
  check_bf16(dense_network(Padding::symmetric, 3), {.batch = 4, .size = 61});
}

TEST_CASE("the fused step computes ResNet", "[slow]") {
  check_equal(named("resnet18", 0.2), {.batch = 4, .size = 72});
  check_equal(named("resnet50"), {.batch = 256, .size = 8});
  check_bf16(named("resnet50"), {.batch = 8, .size = 64});
}

TEST_CASE("the fused step computes EfficientNetV2 and a partly frozen ResNet", "[slow][wide]") {
  check_equal(named("resnet50"), {.batch = 3, .size = 64});
  check_equal(named("resnet50"), {.batch = 3, .size = 64, .frozen_stages = 3});
  check_equal(named("efficientnet_v2_s", 0.2), {.batch = 2, .size = 70});
  check_bf16(named("efficientnet_v2_s", 0.2), {.batch = 4, .size = 64});
}

TEST_CASE("the fused step computes MobileNetV3", "[slow]") {
  check_equal(named("mobilenet_v3_small"), {.batch = 4, .size = 64});
  check_equal(named("mobilenet_v3_large", 0.3), {.batch = 3, .size = 97});
  check_equal(named("mobilenet_v3_large"), {.batch = 4, .size = 64, .frozen_stages = 6});
  check_bf16(named("mobilenet_v3_large", 0.2), {.batch = 8, .size = 64});
}

TEST_CASE("the fused step takes any number of channels") {
  using shoal::ops::Activation;
  for (const Padding padding : {Padding::symmetric, Padding::same})
    for (const Activation activation :
         {Activation::silu, Activation::relu6, Activation::relu, Activation::hard_swish})
      check_equal(odd_network(padding, activation), {.batch = 3, .size = 41});
  check_equal(odd_network(Padding::same, Activation::silu), {.batch = 2, .size = 30});
}

TEST_CASE("the fused step leaves frozen layers alone", "[slow]") {
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .frozen_stages = 1});
  check_equal(named("efficientnet_b0", 0.2), {.batch = 4, .size = 64, .frozen_stages = 4});
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .frozen_stages = 9});
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .freeze_norms = true});
  check_equal(named("efficientnet_b0"), {.batch = 4, .size = 64, .only = "features.3.1.block.2"});
  check_equal(named("efficientnet_lite0"),
              {.batch = 4, .size = 64, .frozen_stages = 3, .freeze_norms = true});
}

TEST_CASE("the fused step adds the gradients of micro-batches of different sizes", "[slow]") {
  check_equal(named("efficientnet_b0", 0.2), {.batch = 4, .size = 64, .micro_batches = 3});
}

TEST_CASE("the fused step computes wider models", "[slow][wide]") {
  for (const char* name : {"efficientnet_b3", "efficientnet_b7", "efficientnet_lite4"})
    check_equal(named(name, 0.2), {.batch = 2, .size = 72});
}

TEST_CASE("the fused step repeats bit for bit", "[slow]") {
  const Network network = named("efficientnet_b0", 0.2);
  const int threads = at::get_num_threads();
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    const Case c{.batch = 5, .size = 64};
    const Result first = compute(network, c, Kernels::fused, at::kFloat);
    const Result second = compute(network, c, Kernels::fused, at::kFloat);
    CHECK(at::equal(first.logits, second.logits));
    for (size_t i = 0; i < first.gradients.size(); ++i)
      CHECK(at::equal(first.gradients[i], second.gradients[i]));
    const Difference d = difference(first, compute(network, c, Kernels::reference, at::kDouble));
    CHECK(d.gradients < 1e-3);
  }
  at::set_num_threads(threads);
}

TEST_CASE("a network without fused kernels says which layer lacks one") {
  NetworkBuilder b(3, 32, {1e-5, 0.1});
  b.begin_stage("all");
  int x = b.norm("norm", b.convolution("stem", kImages, {.out = 8}), shoal::ops::Activation::relu);
  x = b.convolution("grouped", x, {.out = 8, .kernel = 3, .groups = 2});
  x = b.norm("grouped.norm", x, shoal::ops::Activation::relu);
  b.linear("fc", b.pooled_features(x, 0), 4, LinearInit::by_inputs);
  const Network network = b.finish({});
  CHECK_THAT(fused_obstacle(network), Catch::Contains("'grouped'"));
  CHECK_THROWS_AS(Executor(network, 0, Kernels::fused), std::invalid_argument);
  CHECK_NOTHROW(Executor(network, 0, Kernels::automatic));
  for (const std::string& name : names()) CHECK(fused_obstacle(named(name)).empty());
}

TEST_CASE("what a convolution reads in backward and what it writes do not share memory") {
  const auto end_of = [](const PlannedNode& p, Place begin, int64_t images) {
    return begin + images * p.height * p.width * shoal::ops::fused::padded(p.channels);
  };
  for (const std::string& name : names()) {
    const Network network = named(name);
    for (const int64_t size : {8, 32, 64, 75, 224}) {
      const StepShape shape{4, size, size, std::vector<bool>(network.parameters.size(), true)};
      const Plan plan = plan_step(network, shape);
      const auto node = [&](int i) -> const PlannedNode& {
        return plan.nodes[static_cast<size_t>(i)];
      };
      for (const PlannedNode& p : plan.nodes) {
        if (p.next_norm < 0 || p.source < 0) continue;  // no convolution, or that of the images
        const PlannedNode &read = node(p.next_norm),
                          &written = node(p.norm < 0 ? p.source : p.norm);
        const bool in_place = p.norm < 0 && read.skip == p.source;
        if (read.gradient < 0 || written.gradient < 0 || in_place) continue;
        CAPTURE(name, size, p.next_norm);
        CHECK((end_of(read, read.gradient, 4) <= written.gradient ||
               end_of(written, written.gradient, 4) <= read.gradient));
      }
    }
  }
}

TEST_CASE("only the last forward of the fused step can be differentiated") {
  const Network network = named("efficientnet_b0");
  Executor model(network, 1, Kernels::fused);
  const at::Tensor images = at::randn({2, 3, 64, 64});
  const at::Tensor first = model.forward(images, {});
  const at::Tensor second = model.forward(images, {});
  CHECK_THROWS_AS(first.sum().backward(), std::logic_error);
  CHECK_NOTHROW(second.sum().backward());
}
