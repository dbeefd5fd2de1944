#include "app/commands/inputs/class_weights.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "base/error.h"
#include "data/dataset.h"
#include "tests/support/redirected.h"
#include "tests/support/spawn_ranks.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Matchers::Contains;
using Weights = std::vector<double>;

namespace {

const std::vector<std::string> kClasses = {"cat", "great dane", "elk"};

Weights parse(const std::string& text) {
  return app::parse_class_weights("file", text, kClasses);
}

// A dataset with given labels. Its images are never read.
class Labels : public data::BasicDataset {
 public:
  explicit Labels(std::vector<int32_t> labels) : labels_(std::move(labels)) {}
  int64_t size() const override { return std::ssize(labels_); }
  const std::vector<std::string>& classes() const override { return kClasses; }
  int32_t label(int64_t sample) const override { return labels_[static_cast<size_t>(sample)]; }
  std::string name(int64_t) const override { return ""; }
  void read(int64_t, std::vector<uint8_t>&) const override {}

 private:
  std::vector<int32_t> labels_;
};

train::ResolvedJob job_with(const std::string& weighting) {
  train::ResolvedJob job;
  job.class_weighting = weighting;
  job.model.classes = 3;
  return job;
}

Weights weights(const train::ResolvedJob& job, const Labels& images) {
  return app::class_weights(job, images, dist::connect({}));
}

void check_near(const Weights& got, const Weights& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]));
}

}  // namespace

TEST_CASE("class weights are read from lines and from JSON, in the order of the classes") {
  CHECK(parse("elk 2\n\ncat\t0.5\r\ngreat dane   1e1 \n") == Weights{0.5, 10, 2});
  CHECK(parse(R"({"great dane": 10, "elk": 2, "cat": 0.5})") == Weights{0.5, 10, 2});
  CHECK(parse("[0.5, 10, 2]") == Weights{0.5, 10, 2});
}

TEST_CASE("a file of class weights must name each class once, with a number of 0 or more") {
  const auto refused = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK_THROWS_AS(parse(text), UserError);
    CHECK_THROWS_WITH(parse(text), Contains("--class-weights file") && Contains(part));
  };
  refused("", "none, balanced");
  refused("cat 1\nelk 1\n", "'great dane'");
  refused("cat 1\nelk 1\ngreat dane 1\nant 1\n", "'ant'");
  refused("cat 1\nelk 1\ngreat dane 1\ncat 1\n", "'cat'");
  refused("cat 1\nelk -1\ngreat dane 1\n", "'elk'");
  refused("cat 1\nelk inf\ngreat dane 1\n", "'elk'");
  refused("cat 1\nelk\n", "line 2");
  refused("cat 1\nelk x\n", "line 2");
  refused("[1, 2]", "2 weights");
  refused(R"([1, 2, "3"])", "'elk'");
  refused(R"({"cat": 1, "elk": 1})", "'great dane'");
}

TEST_CASE("weights have a mean of 1 over the training images") {
  const Labels images({0, 0, 0, 0, 0, 0, 2, 2});
  check_near(weights(job_with("none"), images), {});
  check_near(weights(job_with("balanced"), images), {8 / 12.0, 0, 2});
  const test::TemporaryDirectory folder;
  const std::string file = folder.path() / "weights.json";
  std::ofstream(file) << "[1, 5, 5]";
  check_near(weights(job_with(file), images), {0.5, 2.5, 2.5});
  std::ofstream(file) << "[0, 1, 0]";  // no image has class 1, the only class with a weight above 0
  CHECK_THROWS_WITH(weights(job_with(file), images), Contains("weight 0"));
  CHECK_THROWS_WITH(weights(job_with(folder.path() / "none"), images), Contains("--class-weights"));

  train::ResolvedJob job = job_with("balanced");
  job.balance = 1;  // 'cat' and 'elk' are used equally often
  check_near(weights(job, images), {1, 0, 1});
  job.balance = 0;
  job.model.classes = 4;  // --classes gives one class more than the data has
  check_near(weights(job, images), {8 / 12.0, 0, 2, 0});
}

TEST_CASE("the smallest and the largest class weight are logged, and the images with --balance") {
  const Labels images({0, 0, 0, 0, 0, 0, 2, 2});  // no image of 'great dane'
  train::ResolvedJob job = job_with("balanced");
  const auto logged = [&] {
    return test::stderr_of([&] {
      app::log_balance(job, images, dist::connect({}));
      weights(job, images);
    });
  };
  CHECK_THAT(logged(), Contains("class weights in the loss: 0.667 for 'cat' to 2 for 'elk'") &&
                           !Contains("--balance"));
  job.balance = 0.5;  // divides 8 images in the ratio sqrt(6) : sqrt(2), 5.07 to 2.93
  CHECK_THAT(logged(),
             Contains("--balance 0.5") && Contains("3 images of 'elk' to 5 images of 'cat'"));
  job.balance = 1;
  CHECK_THAT(logged(), Contains("about 4 images of every class with images") &&
                           Contains("loss: 1 for every class with images"));
  job.class_weighting = "none";
  job.balance = 0;
  CHECK(logged().empty());
}

TEST_CASE("weights count the images of all hosts, and only rank 0 reads the file") {
  test::run_ranks(2, "hosts", [](const dist::Env& env) {
    train::ResolvedJob job = job_with("balanced");
    job.world_size = 2;
    job.train_sharded = true;
    job.local_world_size = 1;
    dist::Communicator hosts = dist::connect(env);
    hosts.env.local_rank = 0;
    const Labels mine(env.rank == 0 ? std::vector<int32_t>{0, 0, 0, 1} : std::vector<int32_t>{2});
    const Weights got = app::class_weights(job, mine, hosts);
    REQUIRE(got.size() == 3);
    REQUIRE(got[0] == Approx(5 / 9.0));
    REQUIRE(got[2] == Approx(5 / 3.0));
    const test::TemporaryDirectory folder;
    job.class_weighting = folder.path() / "weights";
    if (env.rank == 0) std::ofstream(job.class_weighting) << "[1, 1, 1]";
    REQUIRE(app::class_weights(job, mine, hosts) == Weights{1, 1, 1});
    job.class_weighting = folder.path();
    REQUIRE_THROWS_WITH(app::class_weights(job, mine, hosts), Contains("Is a directory"));
  });
}
