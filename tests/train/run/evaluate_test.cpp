#include "train/run/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/net/base64.h"
#include "data/image/thumbnail.h"
#include "data/sources/synthetic.h"
#include "dist/connect.h"
#include "tests/support/program.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;

namespace {

constexpr int64_t kImages = 23, kClasses = 10;

// A model that gives class c the score -c for every image. So the top 5 are always classes 0 to 4.
class FixedScores final : public models::Classifier {
 public:
  at::Tensor forward(const at::Tensor& images, const models::StepContext&) override {
    REQUIRE_FALSE(training);
    REQUIRE_FALSE(at::GradMode::is_enabled());
    return at::arange(kClasses, at::kFloat).neg().expand({images.size(0), kClasses}).contiguous();
  }
  void train(bool on) override { training = on; }
  std::vector<models::ParameterSlot> parameters() override {
    return {{"weight", &weight, nullptr}};
  }
  std::vector<models::BatchNormSlot> batch_norms() override { return {}; }
  const models::ModelInfo& info() const override { return info_; }

  at::Tensor weight = at::zeros({1});
  bool training = true;

 private:
  models::ModelInfo info_;
};

data::LoaderOptions loading(int64_t rank = 0, int64_t world_size = 1) {
  data::LoaderOptions options;
  options.train = false;
  options.transform.eval_size = options.transform.eval_resize = 32;
  options.batch_size = 4;
  options.rank = rank;
  options.world_size = world_size;
  return options;
}

// Returns images whose labels are sample % kClasses.
auto images() {
  return data::make_synthetic(
      {.images = kImages, .classes = kClasses, .distinct = 10, .width = 40, .height = 40});
}

double loss_of(int64_t label) {
  double sum = 0;
  for (int c = 0; c < kClasses; ++c) sum += std::exp(-c);
  return static_cast<double>(label) + std::log(sum);
}

void require_all_images(const Meter& sum) {
  REQUIRE(sum.images == kImages);
  REQUIRE(sum.skipped == 0);
  REQUIRE(sum.top1 == 3);   // images 0, 10 and 20
  REQUIRE(sum.top5 == 13);  // labels 0 to 4
  double loss = 0;
  for (int64_t i = 0; i < kImages; ++i) loss += loss_of(i % kClasses);
  REQUIRE(sum.loss == Approx(loss).epsilon(1e-5));
}

// Checks the results of each image. The predicted class is always 0.
void require_all_results(const EvaluationReport& report) {
  REQUIRE(report.images.size() == kImages);
  for (size_t i = 0; i < kImages; ++i) {
    const ImageResult& one = report.images[i];
    REQUIRE(one.image == static_cast<int64_t>(i));
    REQUIRE(one.label == static_cast<int32_t>(i % kClasses));
    REQUIRE(one.classes == std::array<int32_t, 5>{0, 1, 2, 3, 4});
    REQUIRE(one.loss == Approx(loss_of(one.label)).epsilon(1e-5));
  }
  REQUIRE(report.figures.classes.size() == kClasses);
  REQUIRE(report.figures.classes[0].predicted == kImages);
  REQUIRE(report.figures.confusion.size() == kClasses);
  REQUIRE(report.worst.size() == kImages);
  REQUIRE(report.worst[0].label == 9);
  REQUIRE(report.worst[0].path == images()->name(9));
  REQUIRE(report.worst[1].path == images()->name(19));
  REQUIRE(report.worst.back().label == 0);
}

}  // namespace

TEST_CASE("an evaluation counts every image once") {
  dist::Group alone;
  FixedScores model;
  data::Loader loader(images(), loading());
  for (int run = 0; run < 2; ++run) {
    const EvaluationReport report = evaluate(model, ops::Type::f32, loader, alone);
    require_all_images(report.sum);
    require_all_results(report);
    REQUIRE_FALSE(report.stopped);
    REQUIRE(report.seconds > 0);
  }
}

TEST_CASE("ranks with different numbers of images have the same sums") {
  test::run_ranks(3, "ranks", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    FixedScores model;
    data::Loader loader(images(), loading(env.rank, 3));
    const EvaluationReport report = evaluate(model, ops::Type::f32, loader, world.main);
    require_all_images(report.sum);
    require_all_results(report);
    world.shutdown();
  });
}

TEST_CASE("the pixels of the worst images are those of the loader, with any number of ranks") {
  // The worst images are those of class 9, then 8, and so on; equal losses are ordered by position.
  const auto expected = [](int64_t channels) {
    data::LoaderOptions options = loading();
    options.transform.channels = channels;
    std::vector<std::vector<uint8_t>> pixels;
    data::Loader loader(images(), options);
    loader.start_epoch(0);
    while (const data::Batch* batch = loader.next()) {
      for (int64_t row = 0; row < batch->count; ++row) {
        const uint8_t* image = batch->images + row * 32 * 32 * channels;
        std::vector<uint8_t>& rgb = pixels.emplace_back();
        for (int64_t k = 0; k < 32 * 32; ++k)
          for (int64_t c = 0; c < 3; ++c) rgb.push_back(image[k * channels + (channels == 3) * c]);
      }
    }
    std::vector<std::vector<uint8_t>> worst;
    for (const size_t i : {9, 19, 8, 18, 7, 17, 6, 16, 5, 15, 4, 14, 3, 13, 2, 12})
      worst.push_back(pixels.at(i));
    return worst;
  };
  static const std::vector<std::string> classes = {"c0", "c1", "c2", "c3", "c4",
                                                   "c5", "c6", "c7", "c8", "c9"};
  const auto check = [&](int64_t rank, int64_t ranks, dist::Group& group, int64_t channels) {
    FixedScores model;
    data::LoaderOptions options = loading(rank, ranks);
    options.transform.channels = channels;
    data::Loader loader(images(), options);
    WorstPixels worst(options.transform);
    const EvaluationReport report =
        evaluate(model, ops::Type::f32, loader, group, {.worst = &worst});
    const ImageGrid grid = worst.grid(group, report, classes);
    REQUIRE(grid.width == 32);
    REQUIRE(grid.images == expected(channels));
    for (size_t i = 0; i < grid.images.size(); ++i)
      REQUIRE(report.worst[i].thumbnail ==
              base64(data::thumbnail(grid.images[i].data(), {32, 32}, 3)));
    REQUIRE_THAT(grid.captions.at(1),
                 Contains("c9, predicted c0 63.2 %") && Contains(images()->name(19)));
  };
  dist::Group alone;
  check(0, 1, alone, 3);
  check(0, 1, alone, 1);
  test::run_ranks(3, "ranks", [&](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    check(env.rank, 3, world.main, 3);
    world.shutdown();
  });
}

TEST_CASE("with a subset of the classes, the others are not predicted") {
  dist::Group alone;
  FixedScores model;
  data::Loader loader(images(), loading());
  loader.start_epoch(0);
  const auto result = evaluate_batch(model, ops::Type::f32, *loader.next(), {1, 3});
  REQUIRE(result.classes == kClasses);
  REQUIRE(result.logits.size() == 4 * kClasses);
  REQUIRE(result.images[1].label == 1);
  REQUIRE(result.images[1].classes == std::array<int32_t, 5>{1, 3, -1, -1, -1});
  REQUIRE(result.images[1].probabilities[0] == Approx(1 / (1 + std::exp(-2))));
  REQUIRE(result.images[1].loss == Approx(std::log(1 + std::exp(-2))));
}

TEST_CASE("progress is reported every few batches and after the last one") {
  dist::Group alone;
  FixedScores model;
  data::Loader loader(images(), loading());
  std::vector<EvaluationProgress> seen;
  evaluate(model, ops::Type::f32, loader, alone,
           {.progress = [&](const EvaluationProgress& p) { seen.push_back(p); }, .print_freq = 4});
  REQUIRE(seen.size() == 2);
  REQUIRE(seen[0].batch == 4);
  REQUIRE(seen[0].batches == 6);
  REQUIRE(seen[0].last.images == 4);
  REQUIRE(seen[0].sum.images == 16);
  REQUIRE(seen[1].batch == 6);
  REQUIRE(seen[1].last.images == 3);
  require_all_images(seen[1].sum);
}

TEST_CASE("an evaluation stops before the next batch if keep_going() returns false") {
  dist::Group alone;
  FixedScores model;
  data::Loader loader(images(), loading());
  int asked = 0;
  const auto report =
      evaluate(model, ops::Type::f32, loader, alone, {.keep_going = [&] { return ++asked < 3; }});
  REQUIRE(report.stopped);
  REQUIRE(asked == 3);
  REQUIRE(report.sum.images == 8);
}

TEST_CASE("more than 1 % of unreadable images is an error") {
  const test::TemporaryDirectory folder;
  test::make_images(folder.path(), 4, 8, 2, 40);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "val"))
    if (entry.is_regular_file()) files.push_back(entry.path());
  REQUIRE(files.size() >= 8);
  std::filesystem::resize_file(files[0], 20);
  dist::Group alone;
  FixedScores model;
  data::Loader loader(data::open_dataset((folder.path() / "val").string()), loading());
  CHECK_THROWS_AS(evaluate(model, ops::Type::f32, loader, alone), EvaluationFailed);
  loader.start_epoch(0);
  const Meter sum = evaluate_batch(model, ops::Type::f32, *loader.next()).meter;
  REQUIRE(sum.images + sum.skipped == 4);
}
