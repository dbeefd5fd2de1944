#include "data/records/tf_record.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "base/file/crc32c.h"
#include "data/errors.h"
#include "data/image/raw_pixels.h"
#include "data/pack/writer.h"
#include "data/records/tf_example.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

std::string framed(const std::string& data) {
  const uint64_t length = data.size();
  const uint32_t head = masked_crc(crc32c(0, &length, sizeof length));
  const uint32_t check = masked_crc(crc32c(0, data.data(), data.size()));
  std::string out(20 + data.size() - 4, '\0');
  std::memcpy(out.data(), &length, 8);
  std::memcpy(out.data() + 8, &head, 4);
  std::memcpy(out.data() + 12, data.data(), data.size());
  std::memcpy(out.data() + 12 + data.size(), &check, 4);
  return out;
}

OpenOptions with_keys(const std::string& keys) {
  OpenOptions options;
  options.tfrecord_keys = keys;
  return options;
}

// Returns a length-delimited protocol buffer field of fewer than 128 bytes.
std::string field(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}
std::string feature(const std::string& key, int kind, const std::string& list) {
  return field(1, field(1, key) + field(2, field(kind, list)));
}
std::string example(const std::string& features) {
  return framed(field(1, features));
}

}  // namespace

TEST_CASE("ImageNet's records give images, synsets and names") {
  const auto data = open_dataset(golden_record("imagenet.tfrecord"));
  CHECK(data->classes() == Texts{"n01", "n02", "n04"});
  REQUIRE(data->size() == 3);
  CHECK(content(*data, 0) == "content of n02_7.JPEG");
  CHECK(content(*data, 2) == "content of n04_1.JPEG");
  CHECK((data->label(0) == 1 && data->label(1) == 0 && data->label(2) == 2));
  CHECK(data->name(1) == golden_record("imagenet.tfrecord") + ":record 1 (n01_3.JPEG)");
}

TEST_CASE("labels start at 1 like ImageNet's, at 0 if a 0 occurs, or as the option says") {
  OpenOptions options;
  const auto ones = open_dataset(golden_record("numbers.tfrecord"));
  CHECK(ones->classes() == Texts{"0", "1", "2", "3"});
  CHECK((ones->label(0) == 1 && ones->label(1) == 0 && ones->label(2) == 3));
  const auto stated = open_dataset(golden_record("numbers.tfrecord"), with_keys("label-offset=0"));
  CHECK(stated->label(2) == 4);
  CHECK_THAT(message_of(golden_record("numbers.tfrecord"), with_keys("label-offset=2")),
             Contains("record 1 has the label 1") && Contains("label-offset=2"));
  TempFolder t;
  const std::string zero = example(feature("image/encoded", 1, field(1, "x")) +
                                   feature("image/class/label", 3, field(1, std::string(1, '\0'))));
  t.write("a", golden_record_bytes("numbers.tfrecord") + zero);
  CHECK((open_dataset(t / "a")->label(0) == 2 && open_dataset(t / "a")->label(3) == 0));
  options.classes = {"n01", "n02"};
  CHECK_THAT(message_of(golden_record("numbers.tfrecord"), options),
             Contains("record 2 has the label 3") && Contains("between 0 and 1"));
  options.classes = {"n01", "n02", "n03", "n04"};  // synsets are looked up, numbers are indices
  CHECK(open_dataset(golden_record("imagenet.tfrecord"), options)->label(2) == 3);
  CHECK(open_dataset(golden_record("numbers.tfrecord"), options)->label(2) == 3);
}

TEST_CASE("if the first label is ambiguous and a guess could be wrong, it must be given") {
  OpenOptions options;
  options.classes = {"n01", "n02", "n03", "n04", "n05"};
  const std::string numbers = golden_record("numbers.tfrecord");  // labels 1, 2 and 4
  CHECK_THAT(message_of(numbers, options), Contains("label-offset=0 or label-offset=1"));
  options.tfrecord_keys = "label-offset=1";
  CHECK(open_dataset(numbers, options)->label(2) == 3);
  OpenOptions sharded;
  sharded.others_elsewhere = true;
  CHECK_THAT(message_of(numbers, sharded), Contains("label-offset=0 or label-offset=1"));
  CHECK(open_dataset(golden_record("imagenet.tfrecord"), sharded)->label(2) == 2);
}

TEST_CASE("if one class name is unknown, the names are still the labels, not the numbers") {
  OpenOptions options;
  options.classes = {"n01", "n02", "n03"};
  CHECK_THAT(message_of(golden_record("imagenet.tfrecord"), options),
             Contains("n04_1.JPEG") && Contains("class 'n04'"));
}

TEST_CASE("a damaged number does not add a class or change which label is the first") {
  TempFolder t;
  const auto labeled = [](char label) {
    return example(feature("image/encoded", 1, field(1, "x")) +
                   feature("image/class/label", 3, field(1, std::string(1, label))));
  };
  for (const char wrong : {'\0', '\7'}) {
    std::string damaged = labeled(2);
    damaged[damaged.rfind(std::string("\x0a\1\2")) + 2] = wrong;
    t.write("a", labeled(1) + labeled(2) + labeled(3) + damaged + labeled(3));
    OpenOptions options;
    int warnings = 0;
    options.warning = [&](const std::string&) { ++warnings; };
    const auto data = open_dataset(t / "a", options);
    CHECK(data->classes().size() == 3);
    REQUIRE(data->size() == 4);
    CHECK(data->label(0) == 0);
    CHECK(warnings == 1);
  }
}

TEST_CASE("--tfrecord-keys names other features") {
  const std::string text = "image=data,label=labels,raw=uint8,shape=2x2x3";
  const auto pixels = open_dataset(golden_record("uint8.tfrecord"), with_keys(text));
  Bytes bytes;
  pixels->read(1, bytes);
  Bytes expected;
  for (int i = 100; i < 112; ++i) expected.push_back(static_cast<uint8_t>(i));
  CHECK((bytes == raw_image(expected.data(), {2, 2})));
  CHECK(pixels->label(1) == 1);
  const auto doubles =
      open_dataset(golden_record("float64.tfrecord"),
                   with_keys("image=data,label=labels,raw=float64,shape=2x2x3,scale=255"));
  Bytes other;
  doubles->read(1, other);
  CHECK((other == bytes));
  const auto planes = open_dataset(golden_record("uint8.tfrecord"),
                                   with_keys("image=data,label=labels,raw=uint8,shape=3x2x2"));
  planes->read(0, bytes);
  CHECK((Bytes(bytes.end() - 12, bytes.end()) == Bytes{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  const auto wrong = open_dataset(golden_record("uint8.tfrecord"),
                                  with_keys("image=data,label=labels,raw=uint8,shape=2x3x3"));
  CHECK_THROWS_AS(wrong->read(0, bytes), DamagedImage);
  CHECK_THAT(message_of(golden_record("uint8.tfrecord")),
             Contains("no image under 'image/encoded'") && Contains("data, labels") &&
                 Contains("--tfrecord-keys image=KEY"));
  for (const char* bad :
       {"image", "image=", "size=3", "label-offset=x", "raw=int8,shape=1x1x3", "raw=uint8",
        "raw=uint8,shape=2x2", "raw=uint8,shape=2x2x4", "shape=2x2x3", "scale=2",
        "raw=uint8,shape=0x2x3", "raw=uint8,shape=2x2x3,scale=-1"})
    CHECK_THROWS_WITH(parse_example_keys(bad), Contains("--tfrecord-keys"));
}

TEST_CASE("examples without exactly one image and one label are refused; the error names them") {
  TempFolder t;
  const std::string image = feature("image/encoded", 1, field(1, "x"));
  const std::string label = feature("image/class/label", 3, field(1, "\1"));
  const auto refused = [&](const std::string& features) {
    t.write("a", example(image + label) + example(features));
    return message_of(t / "a");
  };
  CHECK(refused(label + image).empty());
  CHECK(refused(image + feature("image/class/label", 3, std::string("\x08\2"))).empty());
  CHECK_THAT(refused(image), Contains("a:record 1 has no label under 'image/class/label'"));
  CHECK_THAT(refused(label), Contains("record 1 has no image"));
  CHECK(refused(label + feature("image/encoded", 1, field(1, ""))).empty());  // a damaged image
  CHECK_THAT(refused(image + feature("image/class/label", 3, field(1, "\1\2"))),
             Contains("has 2 labels"));
  CHECK_THAT(refused(image + feature("image/class/label", 2, field(1, "abcd"))),
             Contains("not a whole number"));
  CHECK_THAT(refused(label + feature("image/encoded", 1, field(1, "x") + field(1, "y"))),
             Contains("needs one byte string under 'image/encoded'"));
  t.write("a", framed("no message at all"));
  CHECK_THAT(message_of(t / "a"), Contains("a:record 0 is not a protocol buffer"));
}

TEST_CASE("a changed bit is a damaged image, a skipped record, or an error that names the record",
          "[single][slow]") {
  const std::string whole = golden_record_bytes("imagenet.tfrecord");
  const Texts good = described(*open_dataset(golden_record("imagenet.tfrecord")));
  const Texts classes = open_dataset(golden_record("imagenet.tfrecord"))->classes();
  TempFolder t;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bad = whole;
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    t.write("a", bad);
    INFO(bit);
    int warnings = 0;
    OpenOptions options;
    options.warning = [&](const std::string& sentence) {
      ++warnings;
      CHECK_THAT(sentence, Contains("left out 1 damaged record") && Contains("(record "));
    };
    try {
      const auto data = open_dataset(t / "a", options);
      CHECK(std::ranges::includes(classes, data->classes()));  // no damage adds a class
      int damaged = 0;
      Bytes bytes;
      for (int64_t i = 0; i < data->size(); ++i) {
        try {
          data->read(i, bytes);
        } catch (const DamagedImage&) {
          ++damaged;
        }
      }
      CHECK(damaged + warnings == 1);
      CHECK(data->size() + warnings == 3);
    } catch (const std::invalid_argument& error) {
      CHECK_THAT(error.what(), Contains(t / "a"));
    }
  }
}

TEST_CASE("TFRecords that are cut short anywhere are reported", "[single]") {
  const std::string whole = golden_record_bytes("imagenet.tfrecord");
  TempFolder t;
  int64_t between = 0;
  for (size_t cut = 13; cut < whole.size(); ++cut) {
    t.write("a", whole.substr(0, cut));
    const std::string message = message_of(t / "a");
    INFO(cut);
    if (message.empty()) {
      ++between;
      CHECK(open_dataset(t / "a")->size() < 3);
    } else {
      CHECK_THAT(message, Contains("is cut short"));
    }
  }
  CHECK(between == 2);
}

TEST_CASE("compressed records can only be read in order, as shoal pack does") {
  const TempFolder t;
  for (const char* name : {"imagenet.tfrecord.gz", "imagenet.tfrecord.zlib"}) {
    INFO(name);
    CHECK_THAT(message_of(golden_record(name)), Contains("compressed") && Contains("shoal pack"));
    OpenOptions options;
    options.in_order = true;
    const auto data = open_dataset(golden_record(name), options);
    CHECK(described(*data) == described(*open_dataset(golden_record("imagenet.tfrecord"))));
    const std::string whole = golden_record_bytes(name);
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      t.write("cut", whole.substr(0, cut));
      CHECK_FALSE(message_of(t / "cut", options).empty());
    }
  }
  OpenOptions options;
  options.in_order = true;
  const std::string twice = golden_record_bytes("imagenet.tfrecord.gz");
  t.write("twice", twice + twice);
  CHECK(open_dataset(t / "twice", options)->size() == 6);
  t.write("padded", twice + std::string(512, '\0'));
  CHECK(open_dataset(t / "padded", options)->size() == 3);
}
