// Compares every network in float64 with torchvision's, EfficientNet-Lite with
// efficientnet_lite_pytorch's, and mobilenet_v2_* with timm's. The reference values come from
// tests/golden/scripts/make_models.py.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include "models/catalogue.h"
#include "models/functions.h"
#include "models/model.h"
#include "tests/models/formula.h"

using namespace shoal::models;
namespace testing = shoal::models::testing;

namespace {

struct Summary {
  double norm, dots[2];
};

struct Golden {
  int64_t parameters;
  double gmac;
  std::string hash;
  std::vector<std::string> state;  // "name[shape]"
  std::map<std::string, std::vector<double>> logits;
  std::map<std::string, Summary> gradients, buffers;
};

const std::map<std::string, Golden>& goldens() {
  static const std::map<std::string, Golden> all = [] {
    std::map<std::string, Golden> result;
    std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/models.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream in(line);
      std::string kind, model, name;
      in >> kind >> model;
      Golden& g = result[model];
      if (kind == "model") in >> g.parameters >> g.gmac >> g.hash;
      if (kind == "state") {
        std::string shape;
        in >> name >> shape;
        g.state.push_back(name + shape);
      }
      if (kind == "logits") {
        in >> name;
        for (double v; in >> v;) g.logits[name].push_back(v);
      }
      if (kind == "gradient" || kind == "buffer") {
        Summary s{};
        in >> name >> s.norm >> s.dots[0] >> s.dots[1];
        (kind == "gradient" ? g.gradients : g.buffers)[name] = s;
      }
    }
    return result;
  }();
  return all;
}

std::string entry(const std::string& name, at::IntArrayRef shape) {
  std::ostringstream text;
  text << name << '[';
  for (size_t i = 0; i < shape.size(); ++i) text << (i ? "," : "") << shape[i];
  text << ']';
  return text.str();
}

std::vector<std::string> state_dict(Classifier& model) {
  std::vector<std::string> state;
  for (const ParameterSlot& slot : model.parameters())
    state.push_back(entry(slot.name, slot.master->sizes()));
  for (const BatchNormSlot& slot : model.batch_norms()) {
    state.push_back(entry(slot.name + ".running_mean", slot.running_mean->sizes()));
    state.push_back(entry(slot.name + ".running_var", slot.running_var->sizes()));
    state.push_back(entry(slot.name + ".num_batches_tracked", slot.num_batches_tracked->sizes()));
  }
  std::sort(state.begin(), state.end());
  return state;
}

std::unique_ptr<Classifier> build(const std::string& name) {
  ModelOptions options;
  options.name = name;
  options.classes = 10;
  options.dropout = 0;
  options.drop_path = 0;
  std::unique_ptr<Classifier> model = create(options);
  testing::fill(*model);
  return model;
}

// Fails if ||logits - expected|| > 1e-8 ||expected||.
void compare_logits(const at::Tensor& logits, const std::vector<double>& expected) {
  const at::Tensor want = at::tensor(expected, at::kDouble).view({2, 10});
  REQUIRE((logits.detach() - want).norm().item<double>() <= 1e-8 * want.norm().item<double>());
}

void compare(const std::map<std::string, Summary>& expected, const std::string& name,
             const at::Tensor& tensor, double floor) {
  INFO(name);
  const Summary& want = expected.at(name);
  const at::Tensor flat = tensor.contiguous().view({-1});
  const double tolerance = 1e-7 * want.norm + floor;
  CHECK(std::abs(flat.norm().item<double>() - want.norm) <= tolerance);
  for (int i = 0; i < 2; ++i) {
    const at::Tensor direction = testing::uniform(name + "#" + std::to_string(i), {flat.numel()});
    CHECK(std::abs(flat.dot(direction).item<double>() - want.dots[i]) <= tolerance);
  }
}

void compare_step(Classifier& model, const at::Tensor& logits, const Golden& golden) {
  const Labels labels{at::tensor({3, 7}, at::kInt), {}, {}};
  cross_entropy(logits, labels, 0.1, 0.5).loss.backward();
  double largest = 0;
  for (const auto& [name, summary] : golden.gradients) largest = std::max(largest, summary.norm);
  REQUIRE(model.parameters().size() == golden.gradients.size());
  // The last argument of compare() is a tolerance for gradients that are zero except for rounding,
  // such as those of biases that a later batch norm cancels.
  for (const ParameterSlot& slot : model.parameters()) {
    compare(golden.gradients, slot.name, slot.master->grad(), 1e-11 * largest);
  }
  REQUIRE(2 * model.batch_norms().size() == golden.buffers.size());
  for (const BatchNormSlot& slot : model.batch_norms()) {
    const double keep = 1 - model.info().batch_norm_momentum;
    compare(golden.buffers, slot.name + ".running_mean",
            keep * *slot.running_mean + (*slot.pending)[0], 0);
    compare(golden.buffers, slot.name + ".running_var",
            keep * *slot.running_var + (*slot.pending)[1], 0);
  }
}

}  // namespace

TEST_CASE("every model has torchvision's parameter count, multiply-adds and state dict", "[slow]") {
  REQUIRE(names().size() == goldens().size());
  for (const std::string& name : names()) {
    INFO(name);
    const Golden& golden = goldens().at(name);
    ModelOptions options;
    options.name = name;
    const ModelInfo info = describe(options);
    CHECK(info.parameters == golden.parameters);
    CHECK(std::abs(info.multiply_adds / 1e9 - golden.gmac) < 0.0006);
    const std::unique_ptr<Classifier> model = create(options);
    const std::vector<std::string> state = state_dict(*model);
    std::string lines;
    for (const std::string& line : state) lines += line + "\n";
    std::ostringstream hash;
    hash << std::hex << std::setw(16) << std::setfill('0') << testing::fnv(lines);
    CHECK(hash.str() == golden.hash);
    if (!golden.state.empty()) {
      std::vector<std::string> want = golden.state;
      std::sort(want.begin(), want.end());
      CHECK(state == want);
    }
  }
}

TEST_CASE("logits of every model equal torchvision's in evaluation and training mode",
          "[logits][slow]") {
  const at::Tensor images = testing::test_images();
  for (const std::string& name : names()) {
    INFO(name);
    const Golden& golden = goldens().at(name);
    const std::unique_ptr<Classifier> model = build(name);
    const bool step = !golden.gradients.empty();
    c10::NoGradGuard no_gradients;
    model->train(false);
    compare_logits(model->forward(images, {}), golden.logits.at("eval"));
    if (step) continue;  // the next test case compares the training mode
    model->train(true);
    compare_logits(model->forward(images, {}), golden.logits.at("train"));
  }
}

TEST_CASE("gradients and updated buffers equal torchvision's for a model of every kind", "[slow]") {
  int compared = 0;
  for (const auto& [name, golden] : goldens()) {
    if (golden.gradients.empty()) continue;
    INFO(name);
    const std::unique_ptr<Classifier> model = build(name);
    model->train(true);
    const at::Tensor logits = model->forward(testing::test_images(), {});
    compare_logits(logits, golden.logits.at("train"));
    compare_step(*model, logits, golden);
    ++compared;
  }
  CHECK(compared == 7);  // the number of models in GRADIENTS of make_models.py
}
