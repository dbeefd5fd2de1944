#include "data/records/record_io.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "data/errors.h"
#include "data/records/record_parts.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

TEST_CASE("MXNet's image records give images and labels") {
  const auto data = open_dataset(golden_record("plain.rec"));
  CHECK(data->size() == 3);
  CHECK(data->classes() == Texts{"0", "1", "2", "3", "4"});
  CHECK(content(*data, 0) == "content of n02_7.JPEG");
  CHECK(content(*data, 2) == "content of n04_1.JPEG");
  CHECK((data->label(0) == 2 && data->label(1) == 1 && data->label(2) == 4));
  CHECK(data->name(1) == golden_record("plain.rec") + ":record 1");
  const auto array = open_dataset(golden_record("array.rec"));
  CHECK((array->label(0) == 3 && content(*array, 0) == "content"));
}

TEST_CASE("a list beside the records names images and classes") {
  const auto data = open_dataset(golden_record("listed.rec"));
  CHECK(data->classes() == Texts{"n01", "n02", "n04"});
  CHECK((data->label(0) == 1 && data->label(1) == 0 && data->label(2) == 2));
  CHECK(data->name(0) == golden_record("listed.rec") + ":record 0 (n02/n02_7.JPEG)");
  TempFolder t;
  t.write("a.rec", golden_record_bytes("plain.rec"));
  t.write("a.lst", "0\t2.0\n");
  CHECK_THAT(message_of(t / "a.rec"), Contains("a.lst line 1"));
  // Folder x has two labels, so folders do not name the classes: the classes are numbers.
  t.write("a.lst", "0\t2.0\tx/1.jpg\n1\t1.0\tx/2.jpg\n2\t4.0\ty/1.jpg\n");
  CHECK(open_dataset(t / "a.rec")->classes().size() == 5);
}

TEST_CASE("a list and an index belong to their records; no warning names them") {
  TempFolder t;
  t.write("a.rec", golden_record_bytes("plain.rec"));
  t.write("a.lst", "");
  t.write("a.idx", "");
  Texts warnings;
  OpenOptions options;
  options.warning = [&](const std::string& text) { warnings.push_back(text); };
  CHECK(open_dataset(t.path(), options)->size() == 3);
  CHECK(warnings.empty());
  t.write("b.idx", "");  // there is no b.rec
  CHECK(open_dataset(t.path(), options)->size() == 3);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("b.idx is left out"));
}

TEST_CASE("records split at the magic number are put together") {
  const auto data = open_dataset(golden_record("split.rec"));
  const std::string magic = word(0xced7230a);
  REQUIRE(data->size() == 4);
  CHECK(content(*data, 0) == magic + "ab");
  CHECK(content(*data, 1) == "abcd" + magic + magic + "x");
  CHECK(content(*data, 2) == "a" + magic + "unaligned");
  CHECK(content(*data, 3) == "end!" + magic);
  const File file(golden_record("split.rec"));
  FileSource source(file);
  RecordIoReader reader(source);
  RecordExtent whole;
  REQUIRE((reader.next(whole) && reader.next(whole)));
  CHECK((reader.number() == 1 && whole.parts == 3));
  const std::string expected = "abcd" + magic + magic + "x";
  for (uint64_t from = 0; from <= expected.size(); ++from) {
    std::string some(expected.size() - from, '\0');
    CHECK(read_payload(file, whole.begin, 24 + from, reinterpret_cast<uint8_t*>(some.data()),
                       some.size()));
    CHECK(some == expected.substr(from));
  }
}

TEST_CASE("images wrapped by SageMaker get the label record before or after them") {
  TempFolder t;
  t.write("a.rec", mxnet_record(jpeg_text(1)) + mxnet_record("3") + mxnet_record(jpeg_text(2)) +
                       mxnet_record("{\"class\": 1}"));
  const auto after = open_dataset(t / "a.rec");
  CHECK((after->label(0) == 3 && after->label(1) == 1));
  CHECK(content(*after, 1) == jpeg_text(2));
  t.write("b.rec", mxnet_record("\"dog\"") + mxnet_record(jpeg_text(1)) + mxnet_record("cat") +
                       mxnet_record(jpeg_text(2)));
  const auto before = open_dataset(t / "b.rec");
  CHECK(before->classes() == Texts{"cat", "dog"});
  CHECK((before->label(0) == 1 && before->label(1) == 0));
  t.write("c.rec", mxnet_record(jpeg_text(1)) + mxnet_record(jpeg_text(2)) + mxnet_record("1"));
  CHECK_THAT(message_of(t / "c.rec"), Contains("c.rec:record 0 has no label"));
  t.write("c.rec", mxnet_record("1") + mxnet_record("1"));
  CHECK_THAT(message_of(t / "c.rec"), Contains("record 1 is a second label"));
  t.write("c.rec", mxnet_record(jpeg_text(1)) + mxnet_record("1") + mxnet_record("1"));
  CHECK_THAT(message_of(t / "c.rec"), Contains("is a label without an image"));
}

TEST_CASE("records without exactly one usable label are refused, and the error names them") {
  CHECK_THAT(message_of(golden_record("several.rec")),
             Contains("several.rec:record 0 has 2 labels") && Contains("one label"));
  TempFolder t;
  for (const float label : {-1.0F, 0.5F, std::numeric_limits<float>::quiet_NaN(), 1e9F}) {
    std::string bytes = golden_record_bytes("plain.rec");
    std::memcpy(bytes.data() + 12, &label, 4);
    t.write("a.rec", bytes);
    CHECK_THAT(message_of(t / "a.rec"), Contains("record 0 has the label"));
  }
  OpenOptions options;
  options.classes = {"a", "b", "c"};
  CHECK_THAT(message_of(golden_record("plain.rec"), options),
             Contains("record 2 has the label 4") && Contains("between 0 and 2"));
}

TEST_CASE("RecordIO that is cut short or has a changed bit never crashes; errors name the file",
          "[single][slow]") {
  const std::string whole = golden_record_bytes("split.rec");
  TempFolder t;
  t.write("good.rec", golden_record_bytes("plain.rec"));
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    t.write("a.rec", whole.substr(0, cut));
    INFO(cut);
    try {
      const auto data = open_dataset(t / "a.rec");
      CHECK(data->size() < 4);  // no error: the cut is between two records
    } catch (const std::invalid_argument& error) {
      CHECK_THAT(error.what(), Contains("a.rec"));
    }
  }
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bad = whole;
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    t.write("a.rec", bad);
    INFO(bit);
    try {
      const auto data = open_dataset(t / "a.rec");
      for (int64_t i = 0; i < data->size(); ++i) content(*data, i);
    } catch (const std::invalid_argument& error) {
      CHECK_THAT(error.what(), Contains("a.rec"));
    }
  }
}
