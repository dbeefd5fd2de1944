#include "app/commands/inputs/datasets.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "app/commands/inputs/agreement.h"
#include "app/options/class_names.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/loader/loader.h"
#include "data/split.h"
#include "tests/support/program.h"
#include "tests/support/redirected.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

void write_image(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
}

// Returns a job that reads `data` and keeps no cache.
train::Job job_of(const fs::path& data) {
  train::Job job;
  job.data = data.string();
  job.cache_dir = "";
  return job;
}

app::Datasets open(const train::Job& job, bool with_train = true, const Names& known = {},
                   const dist::Communicator& world = dist::connect({})) {
  return app::open_datasets(job, app::find_data(job), with_train, known, world);
}

const data::Dataset& dataset(const std::shared_ptr<const data::Source>& source) {
  REQUIRE(source->access() == data::Access::random);
  return dynamic_cast<const data::Dataset&>(*source);
}

}  // namespace

TEST_CASE("--data provides both splits, and validation uses the training labels") {
  const test::TemporaryDirectory folder;
  for (const char* name :
       {"train/ant/1.jpg", "train/cat/1.jpg", "train/dog/1.jpg", "val/dog/1.jpg", "val/cat/1.jpg"})
    write_image(folder.path() / name);
  const app::Datasets found = open(job_of(folder.path()));
  CHECK((found.train->size() == 3 && found.val->size() == 2));
  CHECK(found.val->classes() == Names{"ant", "cat", "dog"});
  CHECK((dataset(found.val).label(0) == 1 && dataset(found.val).label(1) == 2));
  CHECK(found.train_source == (folder.path() / "train").string());
  CHECK(found.val_source == (folder.path() / "val").string());

  // Without training images, labels are indices into the classes of the checkpoint.
  const app::Datasets only_val = open(job_of(folder.path()), false, {"bee", "cat", "dog", "elk"});
  CHECK((only_val.train == nullptr && only_val.train_source.empty()));
  CHECK((dataset(only_val.val).label(0) == 1 && dataset(only_val.val).label(1) == 2));
  CHECK_THROWS_WITH(open(job_of(folder.path()), false, {"cat", "elk"}),
                    Contains("--data") && Contains("'dog'"));
}

TEST_CASE("--data may be an archive that contains both splits") {
  const test::TemporaryDirectory folder;
  for (const char* name :
       {"train/ant/1.jpg", "train/cat/1.jpg", "train/cat/2.jpg", "val/cat/1.jpg"})
    write_image(folder.path() / "set" / name);
  const fs::path tar = folder.path() / "set.tar";
  const auto pack = [&](const Names& splits) {
    const Names words = {"-C", (folder.path() / "set").string(), "-cf", tar.string()};
    REQUIRE(test::run_program("/bin/tar", test::joined(words, splits)).exit_code == 0);
  };
  pack({"train", "val"});
  const app::Datasets found = open(job_of(tar));
  CHECK((found.train->size() == 3 && found.val->size() == 1));
  CHECK(found.val->classes() == Names{"ant", "cat"});
  CHECK(dataset(found.val).label(0) == 1);
  train::Job unused = job_of(tar);
  unused.val_split = 0.5;
  CHECK_THAT(test::stderr_of([&] { open(unused); }), Contains("also contains validation images"));
  train::Job job;
  job.train_dir = job.val_dir = tar.string();  // would use train/ and val/ as classes
  job.cache_dir = "";
  CHECK_THROWS_WITH(open(job), Contains("use --data " + tar.string()));

  write_image(folder.path() / "set/flat/train/1.jpg");
  const Names flat = {"-C", (folder.path() / "set/flat").string(), "-cf", tar.string(), "train"};
  REQUIRE(test::run_program("/bin/tar", flat).exit_code == 0);
  train::Job without_classes = job_of(tar);
  without_classes.val_split = 0.5;
  CHECK_THROWS_WITH(open(without_classes), Contains("directly in train/"));

  pack({"train"});
  CHECK_THROWS_WITH(open(job_of(tar)), Contains("--data") && Contains("no folder val/"));
  train::Job held_out = job_of(tar);
  held_out.val_split = 0.5;
  const app::Datasets parts = open(held_out);
  CHECK(parts.train->size() + parts.val->size() == 3);
  train::Job evaluation = job_of(tar);
  evaluation.eval_only = true;
  app::take_held_out(evaluation, app::find_data(evaluation), 0.5, false);
  CHECK(open(evaluation, false, {"ant", "cat"}).val->size() == parts.val->size());
}

TEST_CASE("a missing input is an error that names its option") {
  const test::TemporaryDirectory folder;
  CHECK_THROWS_WITH(open({}), Contains("--data"));
  CHECK_THROWS_WITH(open(job_of(folder.path())), Contains("--data") && Contains("is empty"));
  std::ofstream(folder.path() / "readme.txt") << "x";
  CHECK_THROWS_WITH(open(job_of(folder.path())), Contains("--data") && Contains("train.pack"));
  write_image(folder.path() / "train/cat/1.jpg");
  CHECK_THROWS_WITH(open(job_of(folder.path())), Contains("val.pack") && Contains("--val-split"));
  CHECK_THROWS_WITH(open(job_of(folder.path() / "train")), Contains("train.pack"));
  train::Job job = job_of(folder.path());
  job.val_dir = (folder.path() / "nowhere").string();
  CHECK_THROWS_WITH(app::check_data_exists(job, app::find_data(job)),
                    Contains("--val") && Contains("nowhere"));
  job.val_dir = (folder.path() / "train").string();
  job.tfrecord_keys = "image=a";
  CHECK_THROWS_WITH(open(job), Contains("--tfrecord-keys"));
  job.tfrecord_keys.clear();
  job.val_split = 0.5;
  CHECK_THROWS_WITH(open(job), Contains("--val-split") && Contains("--val "));
  CHECK_THROWS_AS(open(job), UserError);
}

TEST_CASE("without validation images, the error names a list's column of splits") {
  const test::TemporaryDirectory folder;
  const fs::path list = folder.path() / "train.csv";
  std::ofstream(list) << "image,label,split\n1.jpg,cat,train\n2.jpg,cat,test\n";
  train::Job named = job_of("");
  named.train_dir = list.string();
  for (const train::Job& job : {named, job_of(list), job_of(folder.path())})
    CHECK_THROWS_WITH(open(job), Contains("train.csv") && Contains("'split' ('train', 'test')") &&
                                     Contains("--train LIST --val LIST") &&
                                     !Contains("--val-split"));
  CHECK_THROWS_WITH(open(job_of(list), /*with_train=*/false),
                    Contains("'split'") && Contains("--val LIST") && !Contains("--train"));
  std::ofstream(list) << "image,label,split\n1.jpg,cat,train\n2.jpg,cat,train\n";
  CHECK_THROWS_WITH(open(named), Contains("--val-split") && !Contains("'split'"));
}

TEST_CASE("classes that differ only in case are warned about") {
  const test::TemporaryDirectory folder;
  for (const char* name : {"train/Cat/1.jpg", "train/cat/1.jpg", "val/cat/1.jpg"})
    write_image(folder.path() / name);
  const std::string text = test::stderr_of([&] { open(job_of(folder.path())); });
  CHECK_THAT(text, Contains("--data") && Contains("'Cat' and 'cat' differ only in case"));
}

TEST_CASE("a folder of splits is refused as a folder of classes") {
  const test::TemporaryDirectory folder;
  for (const char* name : {"photos/train/cat/1.jpg", "photos/val/cat/1.jpg", "cats/cat/1.jpg"})
    write_image(folder.path() / name);
  const std::string photos = (folder.path() / "photos").string();
  train::Job job = job_of("");
  job.train_dir = photos;
  job.val_split = 0.1;
  CHECK_THROWS_AS(open(job), UserError);
  CHECK_THROWS_WITH(open(job), Contains("train and val") && Contains("--data " + photos) &&
                                   Contains("--train " + photos + "/train"));
  job.val_split = 0;
  job.train_dir = (folder.path() / "cats").string();
  job.val_dir = photos + "/";
  CHECK_THROWS_WITH(open(job), Contains("--val " + photos + " are called") &&
                                   Contains(", or --val " + photos + "/val"));
  std::filesystem::rename(photos + "/val", photos + "/test");
  CHECK_THROWS_WITH(open(job), Contains("test and train; give the images of one of these"));

  CHECK(app::split_folders({"test", "train", "val"}) == "test, train and val");
  CHECK(app::split_folders({"train", "valid"}) == "train and valid");
  CHECK(app::split_folders({"car", "train"}).empty());
  CHECK(app::split_folders({"train"}).empty());
}

TEST_CASE("--data with one of the splits names the folder of both, as the user wrote it") {
  const test::TemporaryDirectory folder;
  for (const char* name : {"set/train/cat/1.jpg", "set/val/cat/1.jpg", "set/other/cat/1.jpg"})
    write_image(folder.path() / name);
  const auto before = fs::current_path();
  const auto message = [&](const std::string& data) -> std::string {
    try {
      open(job_of(data));
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const auto advice = [&](const std::string& data) {
    const std::string text = message(data), mark = "use its parent folder: --data ";
    const size_t at = text.find(mark);
    return at == text.npos ? "" : text.substr(at + mark.size());
  };
  fs::current_path(folder.path());
  CHECK(advice("set/train") == "set");
  CHECK(advice("set/val/") == "set");
  CHECK(advice(folder.path() / "set/val") == (folder.path() / "set").string());
  CHECK(advice("set/other").empty());
  CHECK_FALSE(message("set/other").empty());
  fs::current_path(folder.path() / "set");
  CHECK(advice("train") == ".");
  CHECK(advice("other/..").empty());
  fs::current_path(folder.path() / "set/train");
  CHECK(advice(".") == "..");
  fs::current_path(before);
}

TEST_CASE("a folder Train or VAL in --data is named, with the name that it needs") {
  const test::TemporaryDirectory folder;
  const auto named = [&](const char* name, const std::string& expected) {
    fs::remove_all(folder.path() / "set");
    write_image(folder.path() / "set" / name / "cat/1.jpg");
    const fs::path split = (folder.path() / "set" / name);
    CHECK_THROWS_WITH(open(job_of(folder.path() / "set")),
                      Contains("rename the folder " + split.string() + " to " + expected));
  };
  named("Train", "train");
  named("VAL", "val");
}

TEST_CASE("--data with a file asks for a folder") {
  const test::TemporaryDirectory folder;
  std::ofstream(folder.path() / "set.tar.gz") << "\x1f\x8b\x08";
  CHECK_THROWS_WITH(open(job_of(folder.path() / "set.tar.gz")),
                    Contains("--data") && Contains("is compressed; unpack it: tar xf"));
  write_image(folder.path() / "1.jpg");
  CHECK_THROWS_WITH(open(job_of(folder.path() / "1.jpg")),
                    Contains("1.jpg is a file") && Contains("--train FILE --val FILE"));
}

TEST_CASE("--val-split divides the training images, and evaluation uses the held-out part") {
  const test::TemporaryDirectory folder;
  for (int i = 0; i < 40; ++i)
    write_image(folder.path() / "train/cat" / (std::to_string(i) + ".jpg"));
  train::Job job = job_of(folder.path());
  job.val_split = 0.25;
  const app::Datasets found = open(job);
  CHECK(found.train->size() + found.val->size() == 40);
  CHECK((found.val->size() > 2 && found.val->size() < 20));
  CHECK(found.train_source == found.val_source);

  train::Job evaluation = job_of(folder.path());
  app::take_held_out(evaluation, app::find_data(evaluation), 0.25, false);
  CHECK(evaluation.val_split == 0.25);
  CHECK(open(evaluation, false, {"cat"}).val->size() == found.val->size());
  write_image(folder.path() / "val/cat/1.jpg");  // separate validation images take precedence
  evaluation = job_of(folder.path());
  app::take_held_out(evaluation, app::find_data(evaluation), 0.25, false);
  CHECK(evaluation.val_split == 0);

  job.val_split = 1e-9;
  fs::remove_all(folder.path() / "val");
  CHECK_THROWS_WITH(open(job), Contains("leaves no validation image"));
}

TEST_CASE("--fraction and --per-class select training images and leave the held-out part alone") {
  const test::TemporaryDirectory folder;
  for (const char* name : {"ant", "cat"})
    for (int i = 0; i < 40; ++i)
      write_image(folder.path() / "train" / name / (std::to_string(i) + ".jpg"));
  train::Job job = job_of(folder.path());
  job.val_split = 0.25;
  const app::Datasets all = open(job);
  job.portion.fraction = 0.5;
  const app::Datasets half = open(job);
  CHECK(half.val->size() == all.val->size());
  CHECK(std::abs(2 * half.train->size() - all.train->size()) <= 2);
  job.cache_dir = folder.path() / "cache";
  const std::string of_half = app::index_folder(job, app::find_data(job));
  job.portion = {1, 3};
  CHECK(app::index_folder(job, app::find_data(job)) != of_half);
  CHECK(open(job).train->size() == 6);
  CHECK(open(job).val->size() == all.val->size());

  job.val_split = 0;
  write_image(folder.path() / "val/ant/1.jpg");
  CHECK((open(job).train->size() == 6 && open(job).val->size() == 1));
  job.train_dir = "pipe:" + (folder.path() / "pipe").string();
  CHECK_THROWS_WITH(open(job), Contains("--per-class 3") && Contains("pipe"));
}

TEST_CASE("a host without held-out images takes part in evaluation without images") {
  test::run_ranks(2, "share", [](const dist::Env& env) {
    const test::TemporaryDirectory folder;
    train::Job job = job_of(folder.path());
    job.sharded = "train";
    job.val_split = 0.25;
    // The first host has all 40 images. The second host lacks the held-out images and `last`, the
    // image with the largest hash. With the larger --val-split at the end of this test, `last` is
    // the only training image.
    std::string last;
    const auto name_of = [](int i) { return "cat/" + std::to_string(i) + ".jpg"; };
    for (int i = 0; i < 40; ++i)
      if (last.empty() || hash_bytes(name_of(i)) > hash_bytes(last)) last = name_of(i);
    for (int i = 0; i < 40; ++i)
      if (env.rank == 0 ||
          (!data::is_held_out(hash_bytes(name_of(i)), job.val_split) && name_of(i) != last))
        write_image(folder.path() / "train" / name_of(i));
    dist::Communicator world = dist::connect(env);
    world.env.local_rank = 0;
    world.env.local_world_size = 1;
    const app::Datasets found = open(job, true, {}, world);
    REQUIRE((found.val->size() == 0) == (env.rank == 1));
    data::LoaderOptions options;
    options.train = false;
    options.uneven = true;
    data::Loader loader(found.val, options);
    loader.start_epoch(0);
    if (env.rank == 1) REQUIRE(loader.next() == nullptr);
    // Training needs images on each host; all ranks report the error.
    job.val_split = 0.999999;
    REQUIRE_THROWS_WITH(open(job, true, {}, world), Contains("leaves no training image"));
  });
}

TEST_CASE("hosts with different images hold out the same images as one host with all of them") {
  constexpr int kClasses = 20;
  constexpr double kShare = 0.7;
  const auto name_of = [](int label, int image) { return strf("c%02d/%d.jpg", label, image); };
  // Two images per class. If both have small hashes, the image with the larger hash stays in the
  // training part.
  int expected = 0, lost = 0;
  for (int label = 0; label < kClasses; ++label) {
    const std::string a = name_of(label, 0), b = name_of(label, 1);
    const bool a_out = data::is_held_out(hash_bytes(a), kShare),
               b_out = data::is_held_out(hash_bytes(b), kShare);
    lost += a_out && b_out;
    expected += a_out && b_out ? 1 : a_out + b_out;
  }
  REQUIRE(lost > 2);
  test::run_ranks(2, "hosts", [&](const dist::Env& env) {
    const test::TemporaryDirectory folder;
    train::Job job = job_of(folder.path());
    job.sharded = "train";
    job.val_split = kShare;
    for (int label = 0; label < kClasses; ++label)
      write_image(folder.path() / "train" / name_of(label, env.rank));
    dist::Communicator world = dist::connect(env);
    world.env.local_rank = 0;
    world.env.local_world_size = 1;
    const app::Datasets found = open(job, true, {}, world);
    REQUIRE(app::count_shares(*found.val, world).all == expected);
    REQUIRE(app::count_shares(*found.train, world).all == 2 * kClasses - expected);
  });
}

TEST_CASE("a pipe needs its classes, from the checkpoint, a file or the validation images") {
  const test::TemporaryDirectory folder;
  write_image(folder.path() / "val/cat/1.jpg");
  train::Job job = job_of(folder.path());
  job.train_dir = "pipe:" + (folder.path() / "p").string();
  const app::Datasets found = open(job);
  CHECK((found.train->access() == data::Access::pipe && found.train->size() == 0));
  CHECK(found.train->classes() == Names{"cat"});
  job.val_dir = job.train_dir;
  CHECK_THROWS_WITH(open(job), Contains("--train") && Contains("--classes"));
  CHECK(open(job, true, {"a", "b"}).train->classes() == Names{"a", "b"});
  job.classes = 3;
  CHECK(open(job).val->classes() == Names{"0", "1", "2"});
}

TEST_CASE("the folder of seek indexes depends on the training images and on the held-out part") {
  train::Job job = job_of("data");
  job.cache_dir = "cache";
  job.train_dir = "/images/a";
  const auto folder = [&] { return app::index_folder(job, app::find_data(job)); };
  const std::string first = folder();
  CHECK_THAT(first, Contains("cache/seek-"));
  job.val_split = 0.1;
  CHECK(folder() != first);
  job.val_split = 0;
  job.train_dir = "/images/../images/a";
  CHECK(folder() == first);
  job.seek_index = false;
  CHECK(folder().empty());
}

TEST_CASE("class names are read one per line, and duplicates are an error") {
  const test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "names").string();
  std::ofstream(path) << "cat\r\ndog \n\n";
  CHECK(app::read_class_names(path, "a number") == Names{"cat", "dog"});
  std::ofstream(path) << "cat\ncat\n";
  CHECK_THROWS_WITH(app::read_class_names(path, "a number"), Contains("'cat' twice"));
  CHECK_THROWS_AS(app::read_class_names(path + " that is not there", "imagenet"), UserError);
  CHECK_THROWS_WITH(app::read_class_names("4", "imagenet"),
                    Contains("--classes 4") && Contains("imagenet") && Contains("file"));
}
