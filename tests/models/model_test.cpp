#include "models/model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <barrier>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <thread>

#include "models/catalogue.h"
#include "models/functions.h"
#include "tests/models/formula.h"

using namespace shoal::models;
namespace testing = shoal::models::testing;

namespace {

ModelOptions named(const std::string& name, int64_t classes = 10) {
  ModelOptions options;
  options.name = name;
  options.classes = classes;
  return options;
}

ParameterSlot slot(Classifier& model, const std::string& name) {
  for (const ParameterSlot& s : model.parameters()) {
    if (s.name == name) return s;
  }
  throw std::out_of_range(name);
}

// Results of one training step with weights from tests/models/formula.h.
struct Step {
  at::Tensor logits, loss;
  std::vector<at::Tensor> gradients, pending;
};

Step step(const ModelOptions& options, const at::Tensor& images, const StepContext& context,
          double scale) {
  const std::unique_ptr<Classifier> model = create(options);
  testing::fill(*model);
  model->train(true);
  Step result;
  result.logits = model->forward(images, context);
  const at::Tensor labels = at::zeros({images.size(0)}, at::kInt);
  result.loss = cross_entropy(result.logits, {labels, {}, {}}, 0.1, scale).loss;
  result.loss.backward();
  for (const ParameterSlot& s : model->parameters()) result.gradients.push_back(s.master->grad());
  for (const BatchNormSlot& s : model->batch_norms()) result.pending.push_back(s.pending->clone());
  return result;
}

double apart(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / (want.norm() + 1e-6)).item<double>();
}

}  // namespace

TEST_CASE("multiply-adds are those of the image size") {
  Network resnet = make_network(named("resnet18", 1000));
  const auto multiply_adds_at = [&](int64_t side) {
    set_image_size(resnet, side);
    return resnet.info.multiply_adds;
  };
  // Computed by hand: stem, four stages, classifier.
  CHECK(multiply_adds_at(64) == 9633792. + 37748736. + 3 * 33554432. + 512000.);
  // Sides after the stem, the pool and the stages: 33, 17, 17, 9, 5, 3.
  CHECK(multiply_adds_at(65) ==
        10245312. + 42614784. + 42467328. + 52428800. + 75497472. + 512000.);
  for (const std::string& name : names()) {
    INFO(name);
    const Network network = make_network(named(name));
    Network same = network;
    set_image_size(same, 96);
    CHECK(same.info.multiply_adds < network.info.multiply_adds);
    set_image_size(same, network.info.eval_size);
    CHECK(same.info.multiply_adds == Approx(network.info.multiply_adds).epsilon(1e-12));
    for (size_t i = 0; i < same.nodes.size(); ++i)
      CHECK(same.nodes[i].out.height == network.nodes[i].out.height);
  }
}

TEST_CASE("the error for an unknown model names the nearest one") {
  CHECK_THROWS_WITH(create(named("resnet51")),
                    Catch::Contains("resnet51") && Catch::Contains("'resnet50'"));
  CHECK_THROWS_AS(describe(named("eficientnet_b3")), std::invalid_argument);
  CHECK_THROWS_WITH(describe(named("eficientnet_b3")), Catch::Contains("'efficientnet_b3'"));
  for (const auto& [timm, ours] : {std::pair("mobilenetv2_100", "'mobilenet_v2'"),
                                   {"mobilenetv2_120d", "'mobilenet_v2_120d'"},
                                   {"mobilenetv3_large_100", "'mobilenet_v3_large'"},
                                   {"tf_efficientnet_lite3", "'efficientnet_lite3'"},
                                   {"tf_efficientnetv2_s", "'efficientnet_v2_s'"}})
    CHECK_THROWS_WITH(describe(named(timm)), Catch::Contains(ours));
  CHECK_THROWS_AS(create(named("resnet18", 0)), std::invalid_argument);
  ModelOptions options = named("resnet18");
  options.drop_path = 1.5;
  CHECK_THROWS_AS(create(options), std::invalid_argument);
}

TEST_CASE("sizes and recipes of the models are torchvision's") {
  const ModelInfo b2 = describe(named("efficientnet_b2", 1000));
  CHECK(b2.train_size == 260);
  CHECK(b2.eval_size == 288);
  CHECK(b2.eval_resize == 288);
  CHECK(b2.bicubic);
  CHECK(b2.parameters == 9109994);
  CHECK(describe(named("efficientnet_b7")).batch_norm_momentum == 0.01);
  const ModelInfo resnet = describe(named("resnet50"));
  CHECK(resnet.eval_resize == 256);
  CHECK_FALSE(resnet.bicubic);
  CHECK(resnet.parameters == 25557032 - 990 * 2049);
  const ModelInfo mobile = describe(named("mobilenet_v2"));
  CHECK(mobile.train_size == 224);
  CHECK(mobile.eval_size == 224);
  CHECK(mobile.eval_resize == 256);
  CHECK_FALSE(mobile.bicubic);
  CHECK(mobile.batch_norm_momentum == 0.1);
  CHECK(mobile.dropout == 0.2);
  CHECK(mobile.drop_path == 0);
}

TEST_CASE("stages, depths and stochastic depth of MobileNetV2 follow its blocks") {
  ModelOptions options = named("mobilenet_v2");
  options.drop_path = 0.17;
  const Network network = make_network(options);
  REQUIRE(network.info.stages.size() == 20);
  CHECK(network.info.stages.front() == "features.0");
  CHECK(network.info.stages.back() == "classifier");
  for (const Parameter& parameter : network.parameters) {
    INFO(parameter.name);
    const Traits& traits = parameter.traits;
    CHECK(traits.depth == traits.stage);
    const std::string& name = network.info.stages.at(static_cast<size_t>(traits.stage));
    CHECK(parameter.name.starts_with(name + "."));
  }
  std::map<std::string, double> rates;
  for (const Node& node : network.nodes)
    if (const auto* last = std::get_if<Norm>(&node.operation); last && node.inputs.size() > 1)
      rates[node.name] = last->drop;
  REQUIRE(rates.size() == 10);
  CHECK(rates.at("features.3.conv.3") == Approx(0.02));
  CHECK(rates.at("features.16.conv.3") == Approx(0.15));
}

TEST_CASE("the weights of every network decay; its biases and batch norms do not") {
  for (const std::string& name : names()) {
    const Network network = make_network(named(name));
    INFO(name);
    for (const Parameter& parameter : network.parameters) {
      INFO(parameter.name);
      CHECK(parameter.traits.decays == (parameter.shape.size() > 1));
      CHECK((parameter.name.ends_with(".weight") || !parameter.traits.decays));
    }
    for (const Statistics& layer : network.statistics) {
      const auto weight = std::find_if(
          network.parameters.begin(), network.parameters.end(),
          [&](const Parameter& parameter) { return parameter.name == layer.name + ".weight"; });
      REQUIRE(weight != network.parameters.end());
      CHECK((weight->traits.norm && !weight->traits.decays));
    }
  }
}

TEST_CASE("initial weights follow the seed and torchvision's distributions") {
  ModelOptions options = named("efficientnet_b0", 1000);
  const std::unique_ptr<Classifier> a = create(options), b = create(options);
  options.seed = 1;
  const std::unique_ptr<Classifier> c = create(options);
  const std::string head = "features.8.0.weight";
  CHECK(at::equal(*slot(*a, head).master, *slot(*b, head).master));
  CHECK_FALSE(at::equal(*slot(*a, head).master, *slot(*c, head).master));

  const auto deviation = [&](const std::string& name) {
    return slot(*a, name).master->std().item<double>();
  };
  CHECK(deviation(head) == Approx(std::sqrt(2.0 / 1280)).epsilon(0.02));
  // torchvision's fan-out of a depthwise convolution counts all output channels.
  CHECK(deviation("features.6.1.block.1.0.weight") ==
        Approx(std::sqrt(2.0 / (1152 * 25))).epsilon(0.05));
  CHECK(deviation("features.6.1.block.2.fc1.weight") == Approx(std::sqrt(2.0 / 48)).epsilon(0.05));
  const at::Tensor classifier = *slot(*a, "classifier.1.weight").master;
  CHECK(classifier.abs().max().item<double>() == Approx(1 / std::sqrt(1000.0)).epsilon(0.01));
  CHECK(slot(*a, "classifier.1.bias").master->abs().max().item<double>() == 0);

  const std::unique_ptr<Classifier> resnet = create(named("resnet18", 1000));
  CHECK(slot(*resnet, "fc.bias").master->abs().max().item<double>() ==
        Approx(1 / std::sqrt(512.0)).epsilon(0.01));
  CHECK(slot(*resnet, "fc.weight").master->abs().max().item<double>() ==
        Approx(1 / std::sqrt(512.0)).epsilon(0.01));
  CHECK(slot(*resnet, "layer4.1.bn2.weight").master->eq(1).all().item<bool>());

  const std::unique_ptr<Classifier> mobile = create(named("mobilenet_v2", 1000));
  CHECK(slot(*mobile, "classifier.1.weight").master->std().item<double>() ==
        Approx(0.01).epsilon(0.02));
  CHECK(slot(*mobile, "classifier.1.bias").master->abs().max().item<double>() == 0);
  CHECK(slot(*mobile, "features.18.0.weight").master->std().item<double>() ==
        Approx(std::sqrt(2.0 / 1280)).epsilon(0.02));
}

TEST_CASE("any input size and number of classes works, and gradients reach every parameter") {
  for (const char* name :
       {"efficientnet_b0", "efficientnet_lite0", "mobilenet_v2_050", "resnet18"}) {
    const std::unique_ptr<Classifier> model = create(named(name, 3));
    const std::vector<uint64_t> keys = {5, 6};
    StepContext context;
    context.keys = keys.data();
    const at::Tensor images = at::ones({2, 3, 75, 49}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor logits = model->forward(images, context);
    REQUIRE(logits.sizes() == at::IntArrayRef({2, 3}));
    logits.square().sum().backward();
    for (const ParameterSlot& s : model->parameters()) {
      INFO(s.name);
      CHECK(s.master->grad().defined());
    }
  }
}

TEST_CASE("master weights can be views of a flat buffer, with gradients in another flat buffer") {
  const std::unique_ptr<Classifier> model = create(named("resnet18"));
  testing::fill(*model);
  const at::Tensor images = testing::test_images();
  model->train(false);
  const at::Tensor before = model->forward(images, {}).detach();
  int64_t total = 0;
  for (const ParameterSlot& s : model->parameters()) total += s.master->numel();
  const at::Tensor flat = at::zeros({total}, at::kDouble),
                   gradients = at::zeros({total}, at::kDouble);
  int64_t offset = 0;
  for (const ParameterSlot& s : model->parameters()) {
    at::Tensor view = flat.as_strided(s.master->sizes(), s.master->strides(), offset);
    view.copy_(s.master->detach());
    view.mutable_grad() = gradients.as_strided(s.master->sizes(), s.master->strides(), offset);
    offset += s.master->numel();
    *s.master = view.requires_grad_();
  }
  const at::Tensor logits = model->forward(images, {});
  CHECK(apart(logits.detach(), before) < 1e-12);
  logits.sum().backward();
  CHECK(gradients.abs().sum().item<double>() > 0);
  CHECK(slot(*model, "conv1.weight").master->grad().data_ptr() == gradients.data_ptr());
}

TEST_CASE("logits with bfloat16 copies of the weights stay close to those in float") {
  const std::unique_ptr<Classifier> model = create(named("efficientnet_b0"));
  testing::fill(*model, at::kFloat);
  model->train(false);
  const at::Tensor images = testing::test_images(at::kFloat);
  const at::Tensor want = model->forward(images, {}).detach();
  for (const ParameterSlot& s : model->parameters()) {
    if (s.copy) *s.copy = s.master->detach().to(at::kBFloat16);
  }
  const at::Tensor got = model->forward(images.to(at::kBFloat16), {});
  CHECK(got.scalar_type() == at::kFloat);
  CHECK(apart(got.detach(), want) < 0.05);
  got.sum().backward();
  CHECK(slot(*model, "features.0.0.weight").master->grad().scalar_type() == at::kFloat);
}

TEST_CASE("two ranks with synchronized batch norm compute the step of one, with dropout too",
          "[slow]") {
  for (const char* name : {"efficientnet_b0", "resnet18"}) {
    INFO(name);
    ModelOptions options = named(name);
    options.drop_path = 0.3;
    options.dropout = 0.2;
    const at::Tensor images =
        testing::uniform("images", {6, 3, 40, 40}).contiguous(at::MemoryFormat::ChannelsLast);
    const std::vector<uint64_t> keys = {11, 4, 77, 1ULL << 40, 9, 300};
    StepContext context;
    context.seed = 42;
    context.keys = keys.data();
    const Step whole = step(options, images, context, 1.0 / 6);

    Step parts[2];
    at::Tensor sum;
    std::barrier meet(2);
    const int64_t first[] = {0, 4, 6};
    const auto rank = [&](int r) {
      StepContext mine = context;
      mine.keys = keys.data() + first[r];
      mine.sum_across_ranks = [&meet, &sum, r](at::Tensor& values) {
        if (r == 0) sum = values.clone();
        meet.arrive_and_wait();
        if (r == 1) sum += values;
        meet.arrive_and_wait();
        values.copy_(sum);
        meet.arrive_and_wait();
      };
      const at::Tensor share =
          images.slice(0, first[r], first[r + 1]).contiguous(at::MemoryFormat::ChannelsLast);
      parts[r] = step(options, share, mine, 1.0 / 6);
    };
    std::thread other(rank, 1);
    rank(0);
    other.join();

    CHECK(apart(at::cat({parts[0].logits, parts[1].logits}).detach(), whole.logits.detach()) <
          1e-11);
    double worst = 0;
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      const double d = apart(parts[0].gradients[i] + parts[1].gradients[i], whole.gradients[i]);
      worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    }
    CHECK(worst < 1e-9);
    for (size_t i = 0; i < whole.pending.size(); ++i) {
      CHECK(apart(parts[0].pending[i], whole.pending[i]) < 1e-11);
      CHECK(at::equal(parts[0].pending[i], parts[1].pending[i]));
    }
  }
}

TEST_CASE("the strength of a step scales dropout", "[slow]") {
  const at::Tensor images = testing::test_images();
  const std::vector<uint64_t> keys = {1, 2};
  ModelOptions options = named("resnet18");
  options.dropout = 0.6;
  const std::unique_ptr<Classifier> whole = create(options);
  options.dropout = 0.3;
  const std::unique_ptr<Classifier> half = create(options);
  testing::fill(*whole);
  testing::fill(*half);
  const auto logits = [&](Classifier& model, uint64_t seed, double strength) {
    StepContext context;
    context.keys = keys.data();
    context.seed = seed;
    context.strength = strength;
    return model.forward(images, context).detach();
  };
  CHECK(at::equal(logits(*whole, 1, 0.5), logits(*half, 1, 1)));
  CHECK(apart(logits(*whole, 1, 0.5), logits(*whole, 1, 1)) > 1e-3);
  CHECK(at::equal(logits(*whole, 1, 0), logits(*whole, 2, 0)));
}

TEST_CASE("drop path and dropout work in training only", "[slow]") {
  const at::Tensor images = testing::test_images();
  const std::vector<uint64_t> keys = {1, 2};
  ModelOptions options = named("resnet18");
  options.drop_path = 0.9;
  options.dropout = 0.5;
  const std::unique_ptr<Classifier> model = create(options);
  testing::fill(*model);
  StepContext context;
  context.keys = keys.data();
  const auto logits = [&](uint64_t seed) {
    context.seed = seed;
    return model->forward(images, context).detach();
  };
  CHECK(at::equal(logits(1), logits(1)));
  CHECK(apart(logits(1), logits(2)) > 1e-3);
  model->train(false);
  CHECK(at::equal(logits(1), logits(2)));
}

TEST_CASE("fixed batch norm uses its running statistics in training and leaves them alone") {
  const std::unique_ptr<Classifier> model = create(named("resnet18"));
  testing::fill(*model);
  const at::Tensor images = testing::test_images();
  model->train(false);
  const at::Tensor want = model->forward(images, {}).detach();
  model->train(true);
  CHECK(apart(model->forward(images, {}).detach(), want) > 1e-3);
  for (const BatchNormSlot& s : model->batch_norms()) {
    *s.fixed = true;
    s.pending->zero_();
  }
  CHECK(at::equal(model->forward(images, {}).detach(), want));
  for (const BatchNormSlot& s : model->batch_norms())
    CHECK(s.pending->abs().sum().item<double>() == 0);
}

TEST_CASE("padding like TensorFlow's SAME equals explicit zeros on the right and below") {
  for (const int64_t side : {7, 8, 9, 14}) {
    for (const int64_t kernel : {3, 5}) {
      INFO(side << " " << kernel);
      const at::Tensor x = testing::uniform("x", {2, 4, side, side + 1});
      const at::Tensor weight = testing::uniform("w", {4, 1, kernel, kernel});
      const at::Tensor got = convolution(x, weight, {}, {.stride = 2, .groups = 4, .same = true});
      REQUIRE(got.size(2) == (side + 1) / 2);
      REQUIRE(got.size(3) == (side + 2) / 2);
      // Pad with as few zeros as the outputs need. If the number of zeros is odd, the extra zero
      // goes right or below.
      const auto zeros = [&](int64_t size) { return 2 * ((size + 1) / 2 - 1) + kernel - size; };
      const int64_t high = zeros(side), wide = zeros(side + 1);
      const at::Tensor padded =
          at::constant_pad_nd(x, {wide / 2, (wide + 1) / 2, high / 2, (high + 1) / 2});
      CHECK(apart(got, at::conv2d(padded, weight, {}, at::IntArrayRef({2, 2}),
                                  at::IntArrayRef({0, 0}), at::IntArrayRef({1, 1}), 4)) < 1e-12);
    }
  }
}
