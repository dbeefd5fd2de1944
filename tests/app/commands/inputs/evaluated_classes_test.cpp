#include "app/commands/inputs/evaluated_classes.h"

#include <catch2/catch.hpp>

#include "app/weights/imagenet_classes.h"
#include "base/error.h"
#include "data/dataset.h"
#include "dist/connect.h"
#include "tests/support/files.h"
#include "tests/support/spawn_ranks.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<int32_t>;

// A dataset with one image per label. Its images are never read.
class Folders : public data::BasicDataset {
 public:
  Folders(Names classes, Numbers labels)
      : classes_(std::move(classes)), labels_(std::move(labels)) {}
  explicit Folders(Names classes) : classes_(std::move(classes)) {
    for (size_t i = 0; i < classes_.size(); ++i) labels_.push_back(static_cast<int32_t>(i));
  }
  int64_t size() const override { return std::ssize(labels_); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return labels_[static_cast<size_t>(sample)]; }
  std::string name(int64_t) const override { return ""; }
  void read(int64_t, std::vector<uint8_t>&) const override {}

 private:
  Names classes_;
  Numbers labels_;
};

app::Weights weights_with(int64_t outputs, Names classes = {}) {
  app::Weights weights;
  weights.file = "x.pt";
  weights.job.model.classes = outputs;
  weights.classes = std::move(classes);
  return weights;
}

// Returns the labels that images in these folders get; empty if they keep their own.
Numbers relabeled(Names folders, int64_t outputs) {
  const auto images = std::make_shared<Folders>(std::move(folders));
  const auto result = app::with_labels_of(weights_with(outputs), images);
  if (result == images) return {};
  CHECK(std::ssize(result->classes()) == outputs);
  const auto dataset = data::as_dataset(*result);
  REQUIRE(dataset);
  Numbers labels;
  for (int64_t i = 0; i < dataset->size(); ++i) labels.push_back(dataset->label(i));
  return labels;
}

Numbers subset(const std::string& value, const data::Source& images,
               const dist::Group& group = {}) {
  app::Arguments arguments;
  arguments.eval.subset = value;
  return app::subset_of(arguments, images, group);
}

const Names kAnimals = {"cat", "dog", "elk", "fox"};

}  // namespace

TEST_CASE("folders that are numbers are the outputs of weights without class names") {
  // ImageNet-V2's folders, sorted as text.
  CHECK(relabeled({"0", "1", "10", "2"}, 1000) == Numbers{0, 1, 10, 2});
  CHECK(relabeled({"3", "7"}, 8) == Numbers{3, 7});
  CHECK(relabeled({"3", "8"}, 8).empty());  // there is no output 8
  CHECK(relabeled({"cat", "dog"}, 8).empty());
}

TEST_CASE("some of ImageNet's folders are the outputs of weights with 1000 of them") {
  const Names& folders = app::imagenet_synsets();
  CHECK(relabeled({folders[7], folders[101], folders[999]}, 1000) == Numbers{7, 101, 999});
  CHECK(relabeled({folders[7], folders[101]}, 2).empty());
  CHECK(relabeled({folders[7], "n99999999"}, 1000).empty());
  CHECK(relabeled(folders, 1000).empty());  // the labels are right already
}

TEST_CASE("for weights with 1000 outputs and no class names, --classes imagenet is suggested") {
  CHECK_THAT(
      app::class_names_advice(weights_with(1000), "numbers are printed"),
      Contains("x.pt") && Contains("so numbers are printed") && Contains("--classes imagenet"));
  CHECK(app::class_names_advice(weights_with(1000, Names(1000, "cat")), "").empty());
  CHECK(app::class_names_advice(weights_with(999), "").empty());
}

TEST_CASE("class names come from --classes, else from the weights") {
  const test::TemporaryDirectory folder;
  const fs::path file = folder.path() / "names.txt";
  test::write_text(file, "zebra\nyak\n");
  app::Arguments arguments;
  CHECK(app::folder_names(arguments, weights_with(2)).empty());
  CHECK(app::folder_names(arguments, weights_with(2, {"cat", "dog"})) == Names{"cat", "dog"});
  arguments.job.classes_file = file;
  CHECK(app::folder_names(arguments, weights_with(2, {"cat", "dog"})) == Names{"zebra", "yak"});
  CHECK_THROWS_WITH(
      app::folder_names(arguments, weights_with(3)),
      Contains("x.pt") && Contains("3 outputs") && Contains("names.txt") && Contains("2 classes"));
  arguments.job.classes_file = app::kImageNet;
  CHECK(app::folder_names(arguments, weights_with(1000)) == app::imagenet_synsets());
  CHECK_THROWS_AS(app::folder_names(arguments, weights_with(10)), UserError);
}

TEST_CASE("the option --subset allows all classes, those of the images, or those in a file") {
  const test::TemporaryDirectory folder;
  const fs::path file = folder.path() / "names.txt";
  const Folders images(kAnimals, {3, 1, 3});
  CHECK(subset("all", images).empty());
  CHECK(subset("data", images) == Numbers{1, 3});
  test::write_text(file, "fox\n\ncat\ndog\nfox\n");
  CHECK(subset(file, images) == Numbers{0, 1, 3});
  test::write_text(file, "dog\nelk\n");
  CHECK_THROWS_WITH(subset(file, images), Contains("names.txt") && Contains("'fox'"));
  test::write_text(file, "dog\nfoxx\n");
  CHECK_THROWS_WITH(subset(file, images), Contains("line 2") && Contains("did you mean 'fox'?"));
  test::write_text(file, "\n");
  CHECK_THROWS_WITH(subset(file, images), Contains("names no class"));
  CHECK_THROWS_WITH(subset(folder.path() / "none", images), Contains("does not exist"));
}

TEST_CASE("the option --subset data allows the classes of all ranks' images") {
  test::run_ranks(2, "subset", [](const dist::Env& env) {
    const auto ranks = dist::connect(env);
    const Folders images(kAnimals, {env.rank == 0 ? 2 : 0});
    REQUIRE(subset("data", images, ranks.main) == Numbers{0, 2});
  });
}
