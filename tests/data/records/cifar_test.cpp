#include "data/records/cifar.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "data/random.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

constexpr size_t kPlane = 32 * 32;

// Returns the red, green and blue planes of image `index`.
std::string planes(uint64_t index) {
  KeyedRandom random(index);
  std::string all(3 * kPlane, '\0');
  for (char& byte : all) byte = static_cast<char>(random.next());
  return all;
}

// Returns a record. `label`: one byte, or a coarse and a fine label.
std::string record(const Bytes& label, uint64_t index) {
  return std::string(label.begin(), label.end()) + planes(index);
}

// Whether the sample's pixels are those of image `index`.
bool shows(const Dataset& data, int64_t sample, uint64_t index) {
  Bytes bytes;
  data.read(sample, bytes);
  CHECK(static_cast<int64_t>(bytes.size()) == data.encoded_bytes(sample));
  ImageReader reader;
  const Bytes pixels = read_box(reader, bytes, {0, 0, 32, 32});
  const std::string all = planes(index);
  bool same = pixels.size() == all.size();
  for (size_t i = 0; same && i < kPlane; ++i)
    for (size_t channel = 0; channel < 3; ++channel)
      same = same && pixels[3 * i + channel] == static_cast<uint8_t>(all[channel * kPlane + i]);
  return same;
}

const std::string kTen = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";

std::string hundred_names() {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "fine " + std::to_string(100 + i) + "\r\n";
  return text;
}

std::vector<int> labels_of(const Dataset& data) {
  std::vector<int> labels;
  for (int64_t i = 0; i < data.size(); ++i) labels.push_back(data.label(i));
  return labels;
}

}  // namespace

TEST_CASE("files of CIFAR-10 give pixels and labels in their order, and classes from their names") {
  TempFolder t;
  t.write("data_batch_1.bin", record({6}, 1) + record({9}, 2));
  t.write("data_batch_2.bin", record({0}, 3));
  t.write("test_batch.bin", record({3}, 4));
  t.write("batches.meta.txt", kTen);
  for (const Reads reads : {Reads::seeking, Reads::forward}) {
    OpenOptions options;
    options.reads = reads;
    const Opened train(t / "data_batch_*.bin", options);
    CHECK(train.warnings.empty());
    CHECK(train.data->classes() == Texts{"airplane", "automobile", "bird", "cat", "deer", "dog",
                                         "frog", "horse", "ship", "truck"});
    CHECK(labels_of(*train.data) == std::vector<int>{6, 9, 0});
    for (const int64_t i : {0, 1, 2}) CHECK(shows(*train.data, i, static_cast<uint64_t>(i + 1)));
    CHECK(train.data->name(1) == t / "data_batch_1.bin:record 1");
  }
  const auto test = open_dataset(t / "test_batch.bin");
  CHECK((labels_of(*test) == std::vector<int>{3} && shows(*test, 0, 4)));
}

TEST_CASE("files of CIFAR-100 give the fine labels") {
  TempFolder t;
  t.write("train.bin", record({19, 0}, 1) + record({0, 99}, 2) + record({3, 41}, 3));
  const auto numbers = open_dataset(t / "train.bin");
  REQUIRE(numbers->classes().size() == 100);
  CHECK((numbers->classes()[0] == "00" && numbers->classes()[41] == "41"));
  t.write("coarse_label_names.txt", "aquatic_mammals\nfish\n");
  t.write("fine_label_names.txt", hundred_names());
  const auto named = open_dataset(t / "train.bin");
  REQUIRE(named->classes().size() == 100);
  CHECK((named->classes()[0] == "fine 100" && named->classes()[99] == "fine 199"));
  for (const auto& data : {numbers, named}) {
    CHECK(labels_of(*data) == std::vector<int>{0, 99, 41});
    for (const int64_t i : {0, 1, 2}) CHECK(shows(*data, i, static_cast<uint64_t>(i + 1)));
  }
}

TEST_CASE("CIFAR's classes keep the order of the names, and all of them count") {
  TempFolder t;
  t.write("a.bin", record({2}, 1) + record({0}, 2));
  CHECK(open_dataset(t / "a.bin")->classes().size() == 10);
  t.write("batches.meta.txt", "zebra\nant\nmole\n");
  const auto named = open_dataset(t / "a.bin");
  CHECK(named->classes() == Texts{"zebra", "ant", "mole"});
  CHECK(labels_of(*named) == std::vector<int>{2, 0});
}

TEST_CASE("CIFAR's labels are looked up in the training set's classes by name, else by number") {
  TempFolder t;
  t.write("a.bin", record({2}, 1) + record({0}, 2));
  t.write("batches.meta.txt", "zebra\nant\nmole\n");
  OpenOptions options;
  options.classes = {"ant", "mole", "zebra"};
  CHECK(labels_of(*open_dataset(t / "a.bin", options)) == std::vector<int>{1, 2});
  options.classes = {"Zebra", "Ant", "Mole"};  // no such names: labels are indices
  CHECK(labels_of(*open_dataset(t / "a.bin", options)) == std::vector<int>{2, 0});
  options.classes = {"ant", "mole"};
  CHECK_THAT(message_of(t / "a.bin", options), Contains("a.bin:record 1") && Contains("'zebra'"));
  fs::remove(t / "batches.meta.txt");
  CHECK_THAT(message_of(t / "a.bin", options), Contains("a.bin:record 0 has the label 2"));
}

TEST_CASE("a folder of CIFAR files is opened, but not if it contains training and test images") {
  TempFolder t;
  t.write("data_batch_2.bin", record({1}, 2));
  t.write("data_batch_1.bin", record({0}, 1));
  t.write("batches.meta.txt", kTen);
  t.write("readme.html", "<html>");
  const Opened opened(t.path());
  CHECK(labels_of(*opened.data) == std::vector<int>{0, 1});
  REQUIRE(opened.warnings.size() == 1);  // none about batches.meta.txt, which is used
  CHECK_THAT(opened.warnings[0], Contains("readme.html is left out"));
  t.write("test_batch.bin", record({2}, 3));
  for (const std::string& source : {t.path(), t / "*.bin"})
    CHECK_THAT(message_of(source), Contains("test_batch.bin test images") && Contains("--train") &&
                                       Contains("data_batch_*.bin") && Contains("--val"));
  TempFolder hundred;
  hundred.write("train.bin", record({0, 0}, 1));
  hundred.write("test.bin", record({0, 0}, 2));
  CHECK_THAT(message_of(hundred.path()), Contains("train.bin contains training images"));
  OpenOptions options;
  options.unlabeled = true;
  const auto all = open_dataset(t / "*.bin", options);
  CHECK((all->classes() == Texts{""} && all->size() == 3 && shows(*all, 2, 3)));
}

TEST_CASE("a CIFAR file of a wrong size is refused, and the error names the expected sizes") {
  TempFolder t;
  t.write("batches.meta.txt", kTen);
  const std::string whole = record({1}, 1) + record({2}, 2);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{3072}, whole.size() - 1}) {
    t.write("a.bin", whole.substr(0, bytes));
    INFO(bytes);
    CHECK_THAT(message_of(t / "a.bin"), Contains("a.bin has " + std::to_string(bytes) + " bytes") &&
                                            Contains("3073 (CIFAR-10) or 3074 (CIFAR-100)"));
  }
  t.write("a.bin", whole + "x");
  CHECK_THAT(message_of(t / "a.bin"), Contains("3073 (CIFAR-10)"));
}

TEST_CASE("if a size fits both kinds of CIFAR, the file of names decides") {
  TempFolder t;
  t.write("a.bin", std::string(size_t{3073} * 3074, '\0'));
  CHECK_THAT(message_of(t / "a.bin"),
             Contains("a.bin") && Contains("batches.meta.txt") && Contains("fine_label_names.txt"));
  t.write("batches.meta.txt", kTen);
  CHECK(open_dataset(t / "a.bin")->size() == 3074);
  t.write("fine_label_names.txt", hundred_names());
  CHECK_THAT(message_of(t / "a.bin"), Contains("CIFAR-10 or CIFAR-100"));
  fs::remove(t / "batches.meta.txt");
  CHECK(open_dataset(t / "a.bin")->size() == 3073);
}

TEST_CASE("labels without a class and wrong names of CIFAR classes are refused") {
  TempFolder t;
  t.write("a.bin", record({1}, 1) + record({10}, 2));
  CHECK_THAT(message_of(t / "a.bin"),
             Contains("a.bin:record 1 has the label 10") && Contains("0 to 9"));
  t.write("batches.meta.txt", "cat\n");
  CHECK_THAT(message_of(t / "a.bin"), Contains("record 0 has the label 1") &&
                                          Contains("batches.meta.txt has only the classes 0 to 0"));
  t.write("batches.meta.txt", "cat\ndog\ncat\n");
  CHECK_THAT(message_of(t / "a.bin"), Contains("batches.meta.txt names 'cat' twice"));
  t.write("batches.meta.txt", "\n");
  CHECK_THAT(message_of(t / "a.bin"), Contains("batches.meta.txt contains no class name"));
  OpenOptions options;
  options.labels = t / "labels";
  CHECK_THAT(message_of(t / "a.bin", options), Contains("--val-labels"));
}

TEST_CASE("CIFAR files of different kinds or with different names are not mixed") {
  TempFolder t;
  t.write("1/a.bin", record({1}, 1));
  t.write("2/a.bin", record({0, 1}, 1));
  CHECK_THAT(message_of(t / "{1,2}/a.bin"),
             Contains("1/a.bin is of CIFAR-10") && Contains("2/a.bin is of CIFAR-100"));
  t.write("2/a.bin", record({1}, 2));
  CHECK(open_dataset(t / "{1,2}/a.bin")->size() == 2);
  t.write("1/batches.meta.txt", kTen);
  CHECK_THAT(message_of(t / "{1,2}/a.bin"),
             Contains("1/batches.meta.txt and ") && Contains("2/batches.meta.txt differ"));
  t.write("2/batches.meta.txt", kTen);
  CHECK(open_dataset(t / "{1,2}/a.bin")->size() == 2);
}

TEST_CASE("other files named .bin, and CIFAR's records under other names, are not CIFAR files") {
  TempFolder t;
  t.write("a.bin", record({10}, 1));
  t.write("b.bin", record({20, 0}, 1));
  t.write("c.bin", record({0, 100}, 1));
  t.write("d.dat", record({0}, 1));
  t.write("e.bin", "");
  for (const char* name : {"a.bin", "b.bin", "c.bin", "d.dat", "e.bin"})
    CHECK_THAT(message_of(t / name), Contains("unknown format") && Contains("a CIFAR file"));
}

TEST_CASE("a cached list of CIFAR's images is not used with other class names") {
  TempFolder t;
  const TempFolder cache;
  t.write("a.bin", record({1}, 1));
  t.write("batches.meta.txt", "cat\ndog\n");
  age_file(t / "a.bin");
  OpenOptions options;
  options.cache_dir = cache.path();
  int scanned = 0;
  options.progress = [&](int64_t count) { scanned += count > 0; };
  CHECK(open_dataset(t / "a.bin", options)->classes() == Texts{"cat", "dog"});
  CHECK(open_dataset(t / "a.bin", options)->classes() == Texts{"cat", "dog"});
  CHECK(scanned == 1);
  t.write("batches.meta.txt", "dog\ncat\n");  // the cached name of label 1 is dog
  const auto swapped = open_dataset(t / "a.bin", options);
  CHECK((swapped->classes() == Texts{"dog", "cat"} && swapped->label(0) == 1));
  t.write("batches.meta.txt", "cat\n");
  CHECK_THAT(message_of(t / "a.bin", options), Contains("has the label 1"));
}
