#include "data/sources/any_stream.h"

#include <catch2/catch.hpp>

#include "tests/data/sources/support.h"
#include "tests/data/stream/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

const Texts kClasses = {"cat", "dog", "fox"};

}  // namespace

TEST_CASE("an empty stream has no images") {
  CHECK(streamed("", kClasses).empty());
}

TEST_CASE("images of a tar get their classes from folders, labels beside them, or their names") {
  const std::string tar = make_tar({{"set/dog/1.jpg", "one"},
                                    {"set/cat/2.jpg", "two"},
                                    {"000.cls", "2"},
                                    {"000.jpg", "three"},
                                    {"001.jpg", "four"},
                                    {"001.json", R"({"label": "fox"})"},
                                    {"001.txt", "not looked at"},
                                    {"fox_17.JPEG", "five"},
                                    {".hidden.jpg", "six"}});
  CHECK(streamed(tar, kClasses) == Texts{"1 1.jpg one", "0 2.jpg two", "2 000.jpg three",
                                         "2 001.jpg four", "2 fox_17.JPEG five"});
}

TEST_CASE("a shard has the same samples as a file and as a stream") {
  const std::string large((size_t{1} << 20) + 1, ' ');
  const std::string tar = make_tar({{"1.json", large},  // too large, but the label is in 1.cls
                                    {"1.gif", "GIF87a: a mask"},
                                    {"1.jpg", "one"},
                                    {"1.cls", "2"},
                                    {"1.cls", "0"},
                                    {"2.txt", "1"},
                                    {"2.png", "two"},
                                    {"2.bmp", "BM: a mask"},
                                    {"2.json", "0"}});
  Members masks = {{"1.cls", "2"}};
  for (int i = 0; i < 40; ++i) masks.push_back({"1.mask" + std::to_string(i) + ".png", "x"});
  masks.insert(masks.begin() + 17, {"1.jpg", "one"});
  CHECK(streamed(make_tar(masks), kClasses) == Texts{"2 1.jpg one"});
  const Texts expected = {"2 1.jpg one", "0 2.png two"};
  CHECK(streamed(tar, kClasses) == expected);
  TempFolder t;
  t.write("a.tar", tar);
  OpenOptions options;
  options.classes = kClasses;
  CHECK(described(*open_dataset(t / "a.tar", options)) ==
        Texts{"2 fox 1.jpg one", "0 cat 2.png two"});
  const std::string refused = make_tar({{"1.jpg", "one"}, {"1.cls", large}});
  CHECK_THAT(error_of_stream(refused, kClasses), Contains("1.cls is too large for a label"));
  t.write("b.tar", refused);
  CHECK_THAT(message_of(t / "b.tar", options), Contains("1.cls is too large for a label"));
}

TEST_CASE("other files in a tar are skipped, damaged images are not") {
  const std::string tar = make_tar({{"cat/1.jpg", "one"},
                                    {"cat/README.txt", "what this is about"},
                                    {"cat/Thumbs.db", "icons"},
                                    {"cat/notes.json", "[]"},
                                    {"dog/2.bmp", "damaged"},
                                    {"dog/3.jpg", "two"}});
  CHECK(streamed(tar, kClasses) == Texts{"0 1.jpg one", "1 2.bmp damaged", "1 3.jpg two"});
}

TEST_CASE("images without a label are images of their own, even if their names begin alike") {
  CHECK(streamed(make_tar({{"cat/photo.1.jpg", "one"},
                           {"cat/photo.2.jpg", "two"},
                           {"cat/photo.txt", "a caption"},
                           {"dog/1.jpg", "three"},
                           {"dog/1.png", "four"},
                           {"dog/1.xyz", "not an image"}}),
                 kClasses) ==
        Texts{"0 photo.1.jpg one", "0 photo.2.jpg two", "1 1.jpg three", "1 1.png four"});
  Members many;
  Texts expected;
  for (int i = 100; i < 140; ++i) {
    many.push_back({"dog/www." + std::to_string(i) + ".jpg", "x"});
    expected.push_back("1 www." + std::to_string(i) + ".jpg x");
  }
  CHECK(streamed(make_tar(many), kClasses) == expected);
  Members captioned = many;  // a text file that is not a label, before or after the images
  captioned.insert(captioned.begin(), {"dog/www.txt", "about them"});
  CHECK(streamed(make_tar(captioned), kClasses) == expected);
  captioned = many;
  captioned.push_back({"dog/www.txt", "about them"});
  CHECK(streamed(make_tar(captioned), kClasses) == expected);
  many.push_back({"dog/www.cls", "1"});
  CHECK_THAT(error_of_stream(make_tar(many), kClasses), Contains("www.cls"));
  CHECK_THAT(error_of_stream(make_tar({{"3.mask.png", "x"}, {"3.cls", "1"}}), kClasses),
             Contains("3.cls is a label without an image"));
  CHECK_THAT(error_of_stream(make_tar({{"3.jpg", "x"}, {"3.png", "y"}, {"3.cls", "1"}}), kClasses),
             Contains("3.png is the second image"));
}

TEST_CASE("a stream holds at most 16 images of a sample until its label and its image are read") {
  const Members::value_type label = {"cat/1.cls", "2"}, image = {"cat/1.jpg", "one"};
  const auto masks = [](int count) {
    Members masks;
    for (int i = 0; i < count; ++i)
      masks.push_back({"cat/1.mask" + std::to_string(i) + ".png", "x"});
    return masks;
  };
  const auto label_last = [&](int count) {
    Members all = masks(count);
    all.insert(all.end(), {image, label});
    return make_tar(all);
  };
  const auto label_first = [&](int count) {
    Members all = masks(count);
    all.insert(all.begin(), label);
    all.push_back(image);
    return make_tar(all);
  };
  const Texts expected = {"2 1.jpg one"};
  CHECK(streamed(label_last(15), kClasses) == expected);
  CHECK(streamed(label_first(16), kClasses) == expected);
  for (const std::string& tar : {label_last(16), label_first(17)})
    CHECK_THAT(error_of_stream(tar, kClasses),
               Contains("1.cls") && Contains("more than 16 images"));
}

TEST_CASE("other data between or after tars is an error, not the end of the stream") {
  const std::string one = make_tar({{"cat/1.jpg", "one"}}), two = make_tar({{"dog/2.jpg", "two"}});
  CHECK(streamed(one + std::string(8192, '\0') + two, kClasses).size() == 2);
  std::string damaged = two;
  damaged[20] ^= 1;
  for (const std::string& other :
       {damaged, std::string("\x1f\x8b compressed"), std::string(600, 'x')})
    CHECK_THAT(error_of_stream(one + other, kClasses), Contains("after the end of a tar"));
}

TEST_CASE("tars may follow one another and be inside a tar") {
  const std::string cat = make_tar({{"1.jpg", "one"}}), dog = make_tar({{"1.jpg", "two"}});
  CHECK(streamed(make_tar({{"cat.tar", cat}, {"dog.tar", dog}}), kClasses) ==
        Texts{"0 1.jpg one", "1 1.jpg two"});
  const std::string one = make_tar({{"cat/1.jpg", "one"}}), two = make_tar({{"dog/1.jpg", "two"}});
  CHECK(streamed(one + std::string(8192, '\0') + two, kClasses) ==
        Texts{"0 1.jpg one", "1 1.jpg two"});
}

TEST_CASE("an image without a known class is named") {
  CHECK_THAT(error_of_stream(make_tar({{"owl/1.jpg", "x"}}), kClasses),
             Contains("owl/1.jpg") && Contains("--classes FILE"));
  CHECK_THAT(error_of_stream(make_tar({{"1.jpg", "x"}, {"1.cls", "3"}}), kClasses),
             Contains("1.jpg has the label 3"));
  CHECK_THAT(error_of_stream(make_tar({{"1.jpg", "x"}, {"1.cls", "owl"}}), kClasses),
             Contains("class 'owl'"));
  CHECK_THAT(error_of_stream(make_tar({{"1.cls", "1"}}), kClasses),
             Contains("a label without an image"));
}

TEST_CASE("a tar may contain tars, but not two levels deep") {
  const std::string cats = make_tar({{"1.jpg", "one"}}), outer = make_tar({{"cat.tar", cats}});
  CHECK(streamed(outer, kClasses) == Texts{"0 1.jpg one"});
  CHECK_THAT(error_of_stream(make_tar({{"all.tar", outer}}), kClasses),
             Contains("all.tar:cat.tar is a tar inside a tar inside a tar"));
}

TEST_CASE("a tar that is cut short anywhere is reported", "[single]") {
  const std::string whole = make_tar({{"cat/1.jpg", "one"}, {"dog/1.jpg", "two"}});
  for (size_t cut = 513; cut <= 2048; ++cut) {
    INFO(cut);
    CHECK_THAT(error_of_stream(whole.substr(0, cut), kClasses), Contains("cut short"));
  }
  CHECK(streamed(whole.substr(0, 2048 + 512), kClasses).size() == 2);
}

TEST_CASE("TFRecords give images by class or number") {
  CHECK(streamed(golden_record_bytes("imagenet.tfrecord"), {"n01", "n02", "n03", "n04"}) ==
        Texts{"1 record 0 (n02_7.JPEG) content of n02_7.JPEG",
              "0 record 1 (n01_3.JPEG) content of n01_3.JPEG",
              "3 record 2 (n04_1.JPEG) content of n04_1.JPEG"});
  const std::string numbers = golden_record_bytes("numbers.tfrecord");
  CHECK(streamed(numbers, {"a", "b", "c", "d"})[2] == "3 record 2 content of n04_1.JPEG");
  CHECK(streamed(numbers, {"a", "b", "c", "d", "e"}, "label-offset=0")[2] ==
        "4 record 2 content of n04_1.JPEG");
  CHECK_THAT(error_of_stream(golden_record_bytes("imagenet.tfrecord"), {"n01", "n02", "n03"}),
             Contains("record 2") && Contains("class 'n04'"));
  CHECK_THAT(
      error_of_stream(golden_record_bytes("imagenet.tfrecord"), {"n01", "n03", "n04", "n05"}),
      Contains("record 1") && Contains("class of the first image is unknown"));
  CHECK_THAT(error_of_stream(numbers, kClasses), Contains("record 2 has the label 3"));
  CHECK_THAT(error_of_stream(numbers, kClasses, "label-offset=2"),
             Contains("below label-offset=2"));
}

TEST_CASE("a record with a wrong checksum is a damaged image; a wrong length is an error") {
  std::string bytes = golden_record_bytes("numbers.tfrecord");
  const Texts whole = streamed(bytes, {"a", "b", "c", "d"});
  bytes[bytes.find("content") + 3] ^= 1;
  const Texts damaged = streamed(bytes, {"a", "b", "c", "d"});
  CHECK_THAT(damaged[0], Contains("0 record 0 (") && Contains("checksum"));
  CHECK(Texts(damaged.begin() + 1, damaged.end()) == Texts(whole.begin() + 1, whole.end()));
  std::string length = golden_record_bytes("numbers.tfrecord");
  length[1] ^= 1;
  CHECK_THAT(error_of_stream(length, kClasses), Contains("has an unknown format"));
  const std::string good = golden_record_bytes("numbers.tfrecord");
  std::string second = good + good;
  second[good.size() + 1] ^= 1;
  CHECK_THAT(error_of_stream(second, {"a", "b", "c", "d"}),
             Contains("record 3") && Contains("length"));
}

TEST_CASE("a tensor of the wrong size in a stream is a damaged image") {
  const Texts images = streamed(golden_record_bytes("uint8.tfrecord"), kClasses,
                                "image=data,label=labels,raw=uint8,shape=2x3x3");
  REQUIRE(images.size() >= 2);
  CHECK_THAT(images[1], Contains("record 1 (") && Contains("bytes"));
}

TEST_CASE("records that are cut short anywhere are reported", "[single]") {
  for (const char* name : {"numbers.tfrecord", "split.rec"}) {
    const std::string whole = golden_record_bytes(name);
    const Texts classes = {"a", "b", "c", "d", "e"};
    const size_t count = streamed(whole, classes).size();
    int64_t whole_ends = 0;
    for (size_t cut = 513; cut < whole.size(); ++cut) {
      INFO(name << " " << cut);
      const std::string error = error_of_stream(whole.substr(0, cut), classes);
      // Not an error: missing padding at the end, or a cut between two records.
      whole_ends += error.empty();
      if (!error.empty()) CHECK_THAT(error, Contains("cut short"));
    }
    CHECK(whole_ends <= static_cast<int64_t>(count) + 3);
  }
}

TEST_CASE("RecordIO reads MXNet's records and those wrapped by SageMaker") {
  const Texts classes = {"0", "1", "2", "3", "4"};
  CHECK(streamed(golden_record_bytes("plain.rec"), classes) ==
        Texts{"2 record 0 content of n02_7.JPEG", "1 record 1 content of n01_3.JPEG",
              "4 record 2 content of n04_1.JPEG"});
  const std::string a = jpeg_text(0), b = jpeg_text(1);
  CHECK(streamed(
            mxnet_record(a) + mxnet_record("1") + mxnet_record(b) + mxnet_record(R"({"label": 2})"),
            classes) == Texts{"1 record 0 " + a, "2 record 2 " + b});
  CHECK(streamed(mxnet_record("1") + mxnet_record(a) + mxnet_record("3") + mxnet_record(b),
                 classes) == Texts{"1 record 1 " + a, "3 record 3 " + b});
  CHECK_THAT(error_of_stream(mxnet_record(a) + mxnet_record(b), classes),
             Contains("record 0 is an image without a label"));
  CHECK_THAT(error_of_stream(mxnet_record("1"), classes), Contains("a label without an image"));
}

TEST_CASE("records split at the magic number are put together in a stream") {
  const auto file = open_dataset(golden_record("split.rec"));
  Texts expected;
  for (int64_t i = 0; i < file->size(); ++i)
    expected.push_back(std::to_string(file->label(i)) + " record " + std::to_string(i) + " " +
                       content(*file, i));
  CHECK(streamed(golden_record_bytes("split.rec"), file->classes()) == expected);
}

TEST_CASE("compressed and unknown formats are refused with advice") {
  CHECK_THAT(error_of_stream(golden_record_bytes("imagenet.tfrecord.gz"), kClasses),
             Contains("CompressionType"));
  const std::string unknown = error_of_stream(std::string(2000, 'x'), kClasses);
  CHECK_THAT(unknown, Contains("a tar, RecordIO, TFRecord") && !Contains("zip"));
  for (const Members& members : {Members{{"cat/1.jpg", "x"}}, Members{}})
    CHECK_THAT(
        error_of_stream(make_zip(members), kClasses),
        Contains("is a .zip archive") && Contains("pipe") && Contains("a tar, RecordIO, TFRecord"));
}
