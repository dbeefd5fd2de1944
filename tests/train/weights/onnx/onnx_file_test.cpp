#include "train/weights/onnx/onnx_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "data/image/raw_pixels.h"
#include "data/loader/transform.h"
#include "models/executor.h"
#include "models/network_builder.h"
#include "tests/models/formula.h"
#include "tests/train/weights/onnx/onnx_evaluator.h"
#include "train/step/trainer.h"
#include "train/weights/onnx/onnx_graph.h"
#include "train/weights/onnx/onnx_preprocessing.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;
using test::OnnxModel;
using test::OnnxValue;

namespace {

constexpr int64_t kSide = 14, kClasses = 5;

// A network with every kind of node. `channels`: of the images.
models::Network network(int64_t channels) {
  using models::Padding;
  using ops::Activation;
  models::NetworkBuilder b(channels, kSide, {.eps = 1e-3, .momentum = 0.1});
  b.begin_stage("all");
  int x = b.convolution(
      "stem", models::kImages,
      {.out = 8, .kernel = 3, .stride = 2, .padding = Padding::same});  // pads one side
  x = b.norm("norm1", x, Activation::relu6);
  const int input = x;
  x = b.convolution("depthwise", x, {.out = 8, .kernel = 5, .groups = 8});
  x = b.norm("norm2", x, Activation::silu);
  x = b.squeeze_excite("gate", x, 2);
  models::Norm last = b.norm_state("norm3", 8);
  last.activation = Activation::relu;
  last.drop = 0.5;  // only in training
  x = b.norm("norm3", x, last, input);
  x = b.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  x = b.convolution("project", x, {.out = 6, .kernel = 3, .groups = 2, .padding = Padding::same});
  x = b.norm("norm4", x, Activation::none);
  b.begin_stage("head");
  b.linear("fc", b.pooled_features(x, 0.5), kClasses, models::LinearInit::by_inputs);
  models::ModelInfo info;
  info.name = "every";
  return b.finish(info);
}

// The network with weights from tests/models/formula.h, its logits and the file written from it.
struct Written {
  models::Executor executor;
  NamedTensors tensors;

  explicit Written(int64_t channels = 3) : executor(network(channels), 1) {
    models::testing::fill(executor, at::kFloat);
    executor.train(false);
    tensors = weights_of(executor);
  }
  std::string bytes(const OnnxOptions& options) const {
    const auto find = [&](const std::string& name) -> std::span<const float> {
      for (const auto& [own, value] : tensors)
        if (own == name) return {value.const_data_ptr<float>(), static_cast<size_t>(value.numel())};
      return {};
    };
    return onnx_file(network(executor.info().channels), find, options);
  }
  at::Tensor logits(const at::Tensor& images) {
    at::NoGradGuard no_grad;
    return executor.forward(images.contiguous(at::MemoryFormat::ChannelsLast), {});
  }
};

OnnxOptions options_of(int64_t channels = 3) {
  OnnxOptions options;
  options.evaluation.eval_size = kSide;
  options.evaluation.eval_resize = 16;
  options.evaluation.channels = channels;
  return options;
}

OnnxValue value_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  const double* const data = flat.const_data_ptr<double>();
  return {flat.sizes().vec(), {data, data + flat.numel()}, false};
}

double largest_difference(const OnnxValue& a, const OnnxValue& b) {
  REQUIRE(a.shape == b.shape);
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double difference = std::abs(a.values[i] - b.values[i]);
    most = std::isnan(difference) ? INFINITY : std::max(most, difference);
  }
  return most;
}

// An image of noise and smooth parts.
std::vector<uint8_t> pixels_of(const data::Size& size) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < 3 * size.width * size.height; ++i) {
    const int64_t x = i / 3 % size.width, y = i / 3 / size.width;
    pixels.push_back(
        static_cast<uint8_t>((x + y) % 20 < 8 ? (i * 2654435761) >> 7 : 3 * x + 5 * y));
  }
  return pixels;
}

// Returns the image as the model's input, N×H×W×C. Converts it to gray if `channels` is 1, like
// Pillow's convert("L").
OnnxValue input_of(const std::vector<uint8_t>& pixels, const data::Size& size, int64_t channels) {
  OnnxValue value{{1, size.height, size.width, channels}, {}, false};
  for (size_t i = 0; i < pixels.size(); i += 3) {
    const int64_t gray =
        (pixels[i] * 19595 + pixels[i + 1] * 38470 + pixels[i + 2] * 7471 + 0x8000) >> 16;
    if (channels == 1) value.values.push_back(static_cast<double>(gray));
    for (size_t c = 0; channels == 3 && c < 3; ++c) value.values.push_back(pixels[i + c]);
  }
  return value;
}

// Returns `input` after the exported preprocessing alone, without a network.
OnnxValue preprocessed(const data::TransformOptions& options, const OnnxValue& input) {
  OnnxGraph graph("preprocessing");
  add_preprocessing(graph, int64_t{1}, options);
  graph.output("crops", {});
  return evaluate(test::parse_onnx(graph.bytes()), input);
}

// Returns the crop of data::Transform, normalized.
OnnxValue expected_crop(const data::TransformOptions& options, const std::vector<uint8_t>& pixels,
                        const data::Size& size) {
  const int64_t side = options.eval_size, channels = options.channels;
  std::vector<uint8_t> row(static_cast<size_t>(side * side * channels));
  data::Transform(options).evaluation_row(data::raw_image(pixels.data(), size), row.data());
  OnnxValue value{{1, channels, side, side}, {}, false};
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < side * side; ++i) {
      const auto channel = static_cast<size_t>(c);
      value.values.push_back((row[static_cast<size_t>(i * channels + c)] / 255.0 -
                              options.normalization.mean[channel]) /
                             options.normalization.std[channel]);
    }
  return value;
}

}  // namespace

TEST_CASE("an ONNX model computes the executor's logits with every kind of node") {
  Written written;
  const at::Tensor images = models::testing::uniform("images", {2, 3, kSide, kSide}).to(at::kFloat);
  OnnxOptions options = options_of();
  options.dynamic_batch = true;
  const OnnxModel model = test::parse_onnx(written.bytes(options));
  const OnnxValue expected = value_of(written.logits(images));
  CHECK(largest_difference(evaluate(model, value_of(images)), expected) < 1e-5);
  double most = 0;
  for (const double value : expected.values) most = std::max(most, std::abs(value));
  CHECK(most > 0.01);
}

TEST_CASE("an ONNX model names its input, its weights and its metadata") {
  const Written written;
  OnnxOptions options = options_of();
  options.metadata = {{"class_names", "[\"ant\"]"}, {"crop", "13"}};
  const OnnxModel fixed = test::parse_onnx(written.bytes(options));
  CHECK(fixed.ir_version == 8);
  CHECK(fixed.operators == 18);
  CHECK(fixed.input == "images");
  CHECK(fixed.output == "logits");
  CHECK(fixed.input_type == static_cast<int>(OnnxType::f32));
  CHECK(fixed.input_dimensions == std::vector<std::string>{"1", "3", "14", "14"});
  CHECK(fixed.metadata.at("class_names") == "[\"ant\"]");
  CHECK(fixed.metadata.at("crop") == "13");
  for (const auto& [name, value] : written.tensors)
    CHECK(fixed.initializers.contains(name) == !name.ends_with("num_batches_tracked"));
  CHECK(fixed.initializers.at("depthwise.weight").shape == std::vector<int64_t>{8, 1, 5, 5});

  options.dynamic_batch = options.with_preprocessing = true;
  const OnnxModel free = test::parse_onnx(written.bytes(options));
  CHECK(free.input_type == static_cast<int>(OnnxType::u8));
  CHECK(free.input_dimensions == std::vector<std::string>{"batch", "height", "width", "3"});
}

TEST_CASE("a missing tensor and one of another size are named") {
  Written written;
  auto& tensors = written.tensors;
  tensors.back().first = "other";  // the last norm's batch counter, which ONNX does not need
  CHECK_NOTHROW(written.bytes(options_of()));
  for (auto& [name, value] : tensors)
    if (name == "gate.fc1.bias") value = value.slice(0, 1);
  CHECK_THROWS_WITH(written.bytes(options_of()),
                    Contains("'gate.fc1.bias' has 1") && Contains("every needs 2"));
  for (auto& [name, value] : tensors)
    if (name == "stem.weight") name = "root.weight";
  CHECK_THROWS_WITH(written.bytes(options_of()), Contains("'stem.weight' has 0"));
}

TEST_CASE("preprocessing in the graph gives exactly the pixels of evaluation") {
  using data::Interpolation;
  // Wide, high, very high (so that the vertical pass comes first), square, 16 pixels wide (so that
  // a resize to 16 changes nothing), tiny.
  const data::Size sizes[] = {{61, 41}, {37, 53}, {24, 60}, {17, 17}, {16, 24}, {11, 7}, {1, 1}};
  for (const int64_t channels : {3, 1})
    for (const auto interpolation : {Interpolation::bilinear, Interpolation::bicubic})
      for (const int64_t crop : {13, 37})              // 1 and 3 blocks (onnx_axis.h)
        for (const int64_t resize : {16, 13, 10, 40})  // some with black borders
          for (const data::Size& size : sizes) {
            data::TransformOptions options = options_of(channels).evaluation;
            options.interpolation = interpolation;
            options.eval_size = crop;
            options.eval_resize = resize;
            CAPTURE(channels, interpolation == Interpolation::bicubic, crop, resize, size.width);
            const std::vector<uint8_t> pixels = pixels_of(size);
            const OnnxValue found = preprocessed(options, input_of(pixels, size, channels));
            CHECK(largest_difference(found, expected_crop(options, pixels, size)) < 1e-5);
          }
}

TEST_CASE("preprocessing in the graph takes a batch of images") {
  const data::Size size{30, 20};
  const OnnxValue first = input_of(pixels_of(size), size, 3);
  OnnxValue batch = first;
  batch.shape[0] = 2;
  batch.values.insert(batch.values.end(), first.values.rbegin(), first.values.rend());
  const data::TransformOptions options = options_of().evaluation;
  const OnnxValue found = preprocessed(options, batch);
  REQUIRE(found.shape == std::vector<int64_t>{2, 3, kSide, kSide});
  for (const bool second : {false, true}) {
    const auto begin = batch.values.begin() + (second ? 30 * 20 * 3 : 0);
    const OnnxValue image{first.shape, {begin, begin + 30 * 20 * 3}, false};
    const auto crop = found.values.begin() + (second ? 3 * kSide * kSide : 0);
    CHECK(preprocessed(options, image).values ==
          std::vector<double>(crop, crop + 3 * kSide * kSide));
  }
}

TEST_CASE("a model with preprocessing computes the logits of the crop") {
  for (const int64_t channels : {3, 1}) {
    Written written(channels);
    OnnxOptions options = options_of(channels);
    options.with_preprocessing = true;
    const data::Size size{31, 20};
    const std::vector<uint8_t> pixels = pixels_of(size);
    const OnnxModel model = test::parse_onnx(written.bytes(options));
    OnnxValue crop = expected_crop(options.evaluation, pixels, size);
    const at::Tensor images =
        at::from_blob(crop.values.data(), {1, channels, kSide, kSide}, at::kDouble).to(at::kFloat);
    const OnnxValue found = evaluate(model, input_of(pixels, size, channels));
    CHECK(largest_difference(found, value_of(written.logits(images))) < 1e-5);
  }
}
