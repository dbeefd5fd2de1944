#include "data/split.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "base/hash.h"
#include "data/pack/writer.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

Members many_images() {
  Members members;
  for (const char* name : {"cat", "dog", "cat/cat"})
    for (int i = 0; i < 40; ++i)
      members.emplace_back(name + std::string("/") + std::to_string(i) + ".jpg", jpeg_text(i));
  return members;
}

Members of_class(const std::string& name) {
  Members members;
  for (const auto& [path, content] : many_images())
    if (path.starts_with(name + "/")) members.emplace_back(path.substr(name.size() + 1), content);
  return members;
}

}  // namespace

TEST_CASE("the key of an image does not depend on where its folder is or how it is packed") {
  for (const char* name :
       {"train/cat/sub/a.jpg", "/cat/data/cat/sub/a.jpg", "cat/sub/a.jpg", "set.tar:cat/sub/a.jpg",
        "/data/all.tar:train/cat/sub/a.jpg", "classes/cat.tar:sub/a.jpg", "cat.zip:sub/a.jpg",
        "ILSVRC2012_img_train.tar:cat.tar/sub/a.jpg"})
    CHECK(split_key("cat", name) == "cat/sub/a.jpg");
  CHECK(split_key("cat", "train/cat/a.jpg") != split_key("dog", "train/dog/a.jpg"));
  CHECK(split_key("cat", "/data/train-00001:record 7 (n1.JPEG)") ==
        "train-00001:record 7 (n1.JPEG)");
  CHECK(split_key("7", "shards/0001.tar:a/000123.jpg") == "0001.tar:a/000123.jpg");
  CHECK(split_key("cat", "/data/synthetic") == "synthetic");
  CHECK(split_key("cat", "cat") == "cat");
  CHECK(split_key("cat", "") == "");
}

TEST_CASE("the held-out part never changes, has about the given share, and grows with it") {
  std::string drawn;
  int few = 0, many = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = "n01440764/n01440764_" + std::to_string(i) + ".JPEG";
    const bool held_out = is_held_out(shoal::hash_bytes(key), 0.1);
    if (i < 40) drawn += held_out ? '1' : '0';
    few += held_out;
    many += is_held_out(shoal::hash_bytes(key), 0.3);
    CHECK((!held_out || is_held_out(shoal::hash_bytes(key), 0.3)));
    CHECK_FALSE(is_held_out(shoal::hash_bytes(key), 0));
  }
  CHECK(drawn == "0000100000000000000000000000000000100000");
  CHECK(std::abs(few - 1000) < 100);
  CHECK(std::abs(many - 3000) < 150);
}

TEST_CASE("class folders, tars and packed sets of them hold out the same images") {
  TempFolder t;
  for (const auto& [name, content] : many_images()) t.write("train/" + name, content);
  t.write("moved/all.tar", make_tar(many_images()));
  t.write("classes/cat.tar", make_tar(of_class("cat")));
  t.write("classes/dog.tar", make_tar(of_class("dog")));
  const std::shared_ptr<const Dataset> folder = open_dataset(t / "train");
  write_pack(*folder, t / "train.pack", {});
  const auto part = [&](const std::string& source, Part which) {
    return part_of(open_dataset(t / source), which, 0.25);
  };
  const Texts train = described(*part("train", Part::train)),
              held_out = described(*part("train", Part::validation));
  CHECK(train.size() + held_out.size() == 120);
  CHECK((held_out.size() > 15 && held_out.size() < 50));
  std::multiset<std::string> both(train.begin(), train.end());
  both.insert(held_out.begin(), held_out.end());
  const Texts all = described(*folder);
  CHECK(both == std::multiset<std::string>(all.begin(), all.end()));
  for (const char* source : {"moved/all.tar", "classes", "train.pack"}) {
    INFO(source);
    CHECK(described(*part(source, Part::train)) == train);
    CHECK(described(*part(source, Part::validation)) == held_out);
  }
  CHECK(part("train.pack", Part::train)->keeps_indexes());
  CHECK(part("moved/all.tar", Part::train)->file_place(0));
  CHECK(part("classes", Part::validation)->encoded_bytes(0) > 0);
}

TEST_CASE("packed sets and records hold out the same images under any name and in any folder") {
  TempFolder t;
  Members samples;
  for (int i = 0; i < 60; ++i) {
    const std::string key = "x/" + std::to_string(i);
    samples.emplace_back(key + ".jpg", jpeg_text(i));
    samples.emplace_back(key + ".cls", std::to_string(i % 3));
  }
  for (const char* name : {"w.tar", "0/w.tar"}) t.write(name, make_tar(samples));
  const std::shared_ptr<const Dataset> shard = open_dataset(t / "w.tar");
  write_pack(*shard, t / "w.pack", {});
  fs::create_directory(t / "1");
  fs::copy_file(t / "w.pack", t / "1/other.pack");
  PackOptions small;
  small.shard_bytes = 20'000;
  write_pack(*shard, t / "shards", small);
  const auto held_out = [&](const std::string& source) {
    return described(*part_of(open_dataset(t / source), Part::validation, 0.25));
  };
  const Texts expected = held_out("w.tar");
  CHECK((expected.size() > 5 && expected.size() < 30));
  for (const char* source : {"0/w.tar", "w.pack", "1/other.pack", "shards"}) {
    INFO(source);
    CHECK(held_out(source) == expected);
  }
}

TEST_CASE("images of a manifest that have the same file name have different keys") {
  TempFolder t;
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    const std::string path = "x/" + std::to_string(i) + "/image.jpg";
    t.write(path, jpeg_text(i));
    lines +=
        R"({"source-ref": "s3://b/)" + path + R"(", "label": )" + std::to_string(i % 2) + "}\n";
  }
  t.write("m.jsonl", lines);
  const auto all = open_dataset(t / "m.jsonl");
  CHECK(all->key(7) == "x/7/image.jpg");
  const fs::path before = fs::current_path();
  fs::current_path(t.path());
  CHECK(open_dataset("m.jsonl")->key(7) == all->key(7));
  fs::current_path(before);
  const auto held_out = [](const Dataset& data) {
    Texts keys;
    for (int64_t i = 0; i < data.size(); ++i)
      if (is_held_out(shoal::hash_bytes(data.key(i)), 0.5)) keys.push_back(data.key(i));
    return keys;
  };
  CHECK((held_out(*all).size() > 8 && held_out(*all).size() < 32));
  write_pack(*all, t / "m.pack", {});
  CHECK(held_out(*open_dataset(t / "m.pack")) == held_out(*all));
}

namespace {

// Images of three classes: `large` has 30, `small` has 4, `single` has 1.
Members classes_of_all_sizes() {
  Members members;
  const std::pair<const char*, int> classes[] = {{"large", 30}, {"single", 1}, {"small", 4}};
  for (const auto& [name, count] : classes)
    for (int i = 0; i < count; ++i)
      members.emplace_back(name + std::string("/") + std::to_string(i) + ".jpg", jpeg_text(i));
  return members;
}

// The number of images per class, in the order of the classes.
std::vector<int> sizes(const Dataset& dataset) {
  std::vector<int> counts(dataset.classes().size(), 0);
  for (int64_t i = 0; i < dataset.size(); ++i) ++counts[static_cast<size_t>(dataset.label(i))];
  return counts;
}

bool contains(const Texts& larger, const Texts& smaller) {
  const std::multiset<std::string> all(larger.begin(), larger.end());
  return std::all_of(smaller.begin(), smaller.end(),
                     [&](const std::string& text) { return all.contains(text); });
}

}  // namespace

TEST_CASE("one image of each class stays in training, and the same one everywhere") {
  TempFolder t;
  for (const auto& [name, content] : classes_of_all_sizes()) t.write("train/" + name, content);
  t.write("all.tar", make_tar(classes_of_all_sizes()));
  const std::shared_ptr<const Dataset> all = open_dataset(t / "train");
  const auto part = [&](Part which, double share) { return part_of(all, which, share); };
  for (const double share : {0.1, 0.5, 0.9, 0.999}) {
    INFO(share);
    const auto train = part(Part::train, share), held_out = part(Part::validation, share);
    CHECK(train->size() + held_out->size() == 35);
    for (const int count : sizes(*train)) CHECK(count >= 1);
    CHECK(sizes(*held_out)[1] == 0);
    CHECK(described(*part_of(open_dataset(t / "all.tar"), Part::train, share)) ==
          described(*train));
    CHECK(contains(described(*part(Part::validation, 0.999)), described(*held_out)));
  }
  CHECK(sizes(*part(Part::train, 0.999)) == std::vector{1, 1, 1});

  // If is_held_out() leaves every class an image for training, it alone decides.
  for (const auto& [name, content] : many_images()) t.write("large/" + name, content);
  const auto large = open_dataset(t / "large");
  Texts expected;
  for (int64_t i = 0; i < large->size(); ++i)
    if (is_held_out(shoal::hash_bytes(large->key(i)), 0.5)) expected.push_back(large->name(i));
  const auto held_out = part_of(large, Part::validation, 0.5);
  Texts names;
  for (int64_t i = 0; i < held_out->size(); ++i) names.push_back(held_out->name(i));
  CHECK(names == expected);
}

TEST_CASE("a portion takes a share or a number of the images of each class, at least one") {
  TempFolder t;
  for (const auto& [name, content] : classes_of_all_sizes()) t.write(name, content);
  const std::shared_ptr<const Dataset> all = open_dataset(t.path());
  const auto portion = [&](double fraction, int64_t per_class) {
    return portion_of(all, {fraction, per_class});
  };
  CHECK(portion(1, 0) == all);
  CHECK(sizes(*portion(0.1, 0)) == std::vector{3, 1, 1});
  CHECK(sizes(*portion(0.5, 0)) == std::vector{15, 1, 2});
  CHECK(sizes(*portion(1, 3)) == std::vector{3, 1, 3});
  CHECK(sizes(*portion(1, 100)) == std::vector{30, 1, 4});
  CHECK(portion(0.1, 0)->classes() == all->classes());
  CHECK(contains(described(*portion(0.5, 0)), described(*portion(0.1, 0))));
  CHECK(contains(described(*portion(1, 3)), described(*portion(0.1, 0))));
  Texts in_order;
  for (const std::string& text : described(*all))
    if (contains(described(*portion(0.5, 0)), {text})) in_order.push_back(text);
  CHECK(described(*portion(0.5, 0)) == in_order);
}

TEST_CASE(
    "a portion is the same in folders, tars and packed sets, and independent of --val-split") {
  TempFolder t;
  for (const auto& [name, content] : many_images()) t.write("train/" + name, content);
  t.write("moved/all.tar", make_tar(many_images()));
  write_pack(*open_dataset(t / "train"), t / "train.pack", {});
  const auto chosen = [&](const std::string& source, double held_out) {
    const auto part = part_of(open_dataset(t / source), Part::train, held_out);
    return described(*portion_of(part, {0.2, 0}));
  };
  const Texts folder = chosen("train", 0);
  CHECK(folder.size() == 24);  // 16 of 80 of class cat (with `cat/cat`), 8 of 40 of dog
  CHECK(chosen("moved/all.tar", 0) == folder);
  CHECK(chosen("train.pack", 0) == folder);
  // The choice of a portion (--fraction) does not depend on the images that --val-split holds out.
  const auto part = part_of(open_dataset(t / "train"), Part::validation, 0.25);
  const Texts held_out = described(*part);
  int64_t in_both = 0;
  for (const std::string& text : folder) in_both += contains(held_out, {text});
  CHECK((in_both > 0 && in_both < 15));
  for (const std::string& text : chosen("train", 0.25)) CHECK_FALSE(contains(held_out, {text}));
  CHECK(part->size() == part_of(open_dataset(t / "moved/all.tar"), Part::validation, 0.25)->size());
}
