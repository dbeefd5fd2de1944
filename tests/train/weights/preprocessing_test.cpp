// Tests the preprocessing that is stored with weights. For example, an image must get the logits
// that Python computes with the same weights, mean and standard deviation
// (tests/golden/scripts/make_preprocessing.py).

#include "train/weights/preprocessing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "base/file/whole_file.h"
#include "data/loader/transform.h"
#include "tests/models/formula.h"
#include "train/step/input.h"
#include "train/step/trainer.h"

using namespace shoal;
using namespace shoal::train;

namespace {

const std::string kGoldenFolder = SHOAL_SOURCE_DIR "/tests/golden/";

// Returns the weights of an RGB model, filled with the formula of tests/models/formula.h.
CheckpointData formula_weights() {
  models::ModelOptions options;
  options.name = "resnet18";
  options.classes = 10;
  const auto model = models::create(options);
  models::testing::fill(*model, at::kFloat);
  CheckpointData data;
  for (const models::ParameterSlot& slot : model->parameters())
    data.model.emplace_back(slot.name, slot.master->detach());
  for (const models::BatchNormSlot& slot : model->batch_norms()) {
    data.model.emplace_back(slot.name + ".running_mean", *slot.running_mean);
    data.model.emplace_back(slot.name + ".running_var", *slot.running_var);
    data.model.emplace_back(slot.name + ".num_batches_tracked", *slot.num_batches_tracked);
  }
  return data;
}

// Returns the logits of one image, as `shoal eval` computes them.
at::Tensor logits_of(const std::string& file, const Job& job, const CheckpointData& weights) {
  models::ModelOptions options;
  options.name = "resnet18";
  options.classes = 10;
  options.channels = *job.channels;
  const auto model = models::create(options);
  load_weights(*model, weights, /*ema=*/false);
  const data::TransformOptions transform = evaluation_transform(job, model->info());
  const std::vector<char> bytes = read_whole_file(kGoldenFolder + "images/" + file);
  std::vector<uint8_t> pixels(
      static_cast<size_t>(transform.eval_size * transform.eval_size * transform.channels));
  data::Transform(transform).evaluation_row(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, pixels.data());
  data::Row row;
  data::Batch batch;
  batch.images = pixels.data();
  batch.rows = {&row, 1};
  batch.capacity = batch.count = 1;
  batch.height = batch.width = transform.eval_size;
  batch.channels = transform.channels;
  batch.normalization = transform.normalization;
  at::NoGradGuard no_grad;
  return model->forward(make_input(batch, ops::Type::f32, at::kCPU).images, {});
}

CheckpointData saved(const std::string& mean, const std::string& channels) {
  CheckpointData data;
  data.integers = {{"val_size", 64}, {"val_resize", 70}};
  data.text = {
      {"interpolation", "bicubic"}, {"mean", mean}, {"std", "0.5,0.5,0.2"}, {"channels", channels}};
  return data;
}

}  // namespace

TEST_CASE("logits with another mean, and of gray images with summed weights, equal Python's") {
  const CheckpointData weights = formula_weights();
  std::ifstream cases(kGoldenFolder + "preprocessing.txt");
  int count = 0;
  for (std::string line; std::getline(cases, line);) {
    std::istringstream words(line);
    std::string kind, file, mean, std;
    int64_t channels = 0, resize = 0, crop = 0;
    words >> kind;
    if (kind != "logits") continue;
    words >> file >> channels >> resize >> crop >> mean >> std;
    Job job;
    job.channels = channels;
    job.val_resize = resize;
    job.val_size = crop;
    job.interpolation = data::Interpolation::bilinear;
    job.mean = parse_mean(mean);
    job.std = parse_std(std);
    const at::Tensor logits = logits_of(file, job, weights);
    INFO(line);
    for (int64_t i = 0; i < 10; ++i) {
      double expected = 0;
      words >> expected;
      CHECK(logits[0][i].item<double>() == Approx(expected).epsilon(1e-4).margin(1e-4));
    }
    ++count;
  }
  CHECK(count == 4);
}

TEST_CASE("weights bring their preprocessing, unless the user gives another") {
  CheckpointData data = saved("0.5,0.25,0.75", "3");
  Job job;
  take_preprocessing(data, job);
  CHECK(job.val_size == 64);
  CHECK(job.val_resize == 70);
  CHECK(job.channels == 3);
  CHECK(job.mean == ChannelValues{0.5, 0.25, 0.75});
  CHECK(job.std == ChannelValues{0.5, 0.5, 0.2});
  CHECK(job.interpolation == data::Interpolation::bicubic);

  Job given;
  given.val_size = 32;
  given.mean = {0, 0, 0};
  data.text["crop_pct"] = "0.9";
  take_preprocessing(data, given);
  CHECK(given.val_size == 32);
  CHECK_FALSE(given.val_resize);  // resolve() computes it from crop_pct
  CHECK(given.crop_pct == 0.9);
  CHECK(given.mean == ChannelValues{0, 0, 0});

  Job gray;
  gray.channels = 1;
  take_normalization(data, gray);
  CHECK(gray.mean == ChannelValues{0.5, 0.5, 0.5});
  CHECK_FALSE(gray.val_size);

  Job older;
  take_normalization({}, older);
  CHECK_FALSE(older.mean);
  CHECK(normalization_in({}).std == Normalization().std);
  CHECK_THROWS_WITH(normalization_in(saved("0.5,x", "3")), Catch::Contains("mean"));
  CHECK_THROWS_WITH(channels_in(saved("0.5", "4")), Catch::Contains("channels"));
}

TEST_CASE("only the first convolution of RGB weights is summed for gray images") {
  NamedTensors tensors = {{"stem", at::ones({4, 3, 3, 3})}, {"next", at::ones({4, 3, 3, 3})}};
  fit_channels(tensors, "stem", 3);
  CHECK(tensors[0].second.size(1) == 3);
  fit_channels(tensors, "stem", 1);
  CHECK(at::equal(tensors[0].second, at::ones({4, 1, 3, 3}) * 3));
  CHECK(tensors[1].second.size(1) == 3);
  CHECK_THROWS_WITH(fit_channels(tensors, "stem", 3), Catch::Contains("--channels 1"));
}
