#include "data/tar/webdataset.h"

#include <catch2/catch.hpp>

#include "data/container/label_text.h"
#include "data/folder/patterns.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

TEST_CASE("files with the same key belong to one sample, in any order and with any extension") {
  TempFolder t;
  t.write("shard-000000.tar", make_tar({{"0001.cls", "2\n"},
                                        {"0001.jpg", "a"},
                                        {"0001.json", "{\"label\": 9}"},
                                        {"0002.JPEG", "b"},
                                        {"0002.json", "{\"cls\": 0, \"width\": 3}"},
                                        {"dir.x/0003.txt", " 1 "},
                                        {"dir.x/0003.depth.npy", "ignored"},
                                        {"dir.x/0003.webp", "c"}}));
  t.write("shard-000001.tar", make_tar({{"0004.png", "d"}, {"0004.cls", "1"}}));
  const Texts expected = {"2 2 0001.jpg a", "0 0 0002.JPEG b", "1 1 0003.webp c", "1 1 0004.png d"};
  CHECK(described(*open_dataset(t.path())) == expected);
  CHECK(described(*open_dataset(t / "shard-{000000..000001}.tar")) == expected);
  CHECK(described(*open_dataset(t / "shard-*.tar")) == expected);
}

TEST_CASE("labels may be names, which are looked up in the training set's classes") {
  TempFolder t;
  t.write("a.tar", make_tar({{"1.jpg", "a"}, {"1.cls", "dog"}, {"2.jpg", "b"}, {"2.cls", "cat"}}));
  CHECK(described(*open_dataset(t / "a.tar")) == Texts{"1 dog 1.jpg a", "0 cat 2.jpg b"});
  OpenOptions options;
  options.classes = {"ant", "cat", "cow", "dog"};
  CHECK(described(*open_dataset(t / "a.tar", options)) == Texts{"3 dog 1.jpg a", "1 cat 2.jpg b"});
  options.classes = {"ant", "cat"};
  CHECK_THAT(message_of(t / "a.tar", options), Contains("a.tar:1.jpg") && Contains("class 'dog'"));

  t.write("n.tar", make_tar({{"1.jpg", "a"}, {"1.cls", "1"}}));
  CHECK(described(*open_dataset(t / "n.tar", options)) == Texts{"1 cat 1.jpg a"});
  t.write("n.tar", make_tar({{"1.jpg", "a"}, {"1.cls", "1"}, {"x2.jpg", "b"}, {"x2.cls", "2"}}));
  CHECK_THAT(message_of(t / "n.tar", options),
             Contains("n.tar:x2.jpg has the label 2") && Contains("between 0 and 1"));
  t.write("m.tar", make_tar({{"1.jpg", "a"}, {"1.cls", "10"}, {"2.jpg", "b"}, {"2.cls", "9"}}));
  CHECK(open_dataset(t / "m.tar")->classes()[9] == "09");
  CHECK(open_dataset(t / "m.tar")->classes().size() == 11);
}

TEST_CASE("incomplete samples are refused by name") {
  TempFolder t;
  const Members good = {{"0.jpg", "a"}, {"0.cls", "0"}};
  const auto refused = [&](Members more) {
    more.insert(more.begin(), good.begin(), good.end());
    t.write("a.tar", make_tar(more));
    return message_of(t / "a.tar");
  };
  CHECK_THAT(refused({{"1.jpg", "x"}}), Contains("a.tar:1.jpg has no label"));
  CHECK_THAT(refused({{"1.cls", "1"}}), Contains("a.tar:1.cls is a label without an image"));
  CHECK(refused({{"README.txt", "what this is about"}, {"meta.json", "[]"}}).empty());
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.png", "y"}, {"1.cls", "1"}}),
             Contains("1.png is the second image"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.cls", "-1"}}), Contains("1.cls has no label"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.json", "{\"a\": 1}"}}), Contains("has no label"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.json", "{"}}), Contains("1.json has no label"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.cls", "cat"}}), Contains("of the same kind"));
  OpenOptions options;
  options.labels = "labels.txt";
  t.write("b.tar", make_tar(good));
  CHECK_THAT(message_of(t / "b.tar", options), Contains("remove --val-labels"));
}

TEST_CASE("labels are numbers, 0 or more, or one-line names") {
  CHECK(parse_label(" 12\r\n") == LabelText{12, ""});
  CHECK(parse_label("n01440764\n") == LabelText{kNoNumber, "n01440764"});
  CHECK(parse_label("great white shark") == LabelText{kNoNumber, "great white shark"});
  for (const std::string& bad :
       Texts{"", " \n", "a\nb", "-3", "99999999999", std::string(201, 'x')})
    CHECK_FALSE(parse_label(bad));
  CHECK(parse_json_label("3") == LabelText{3, ""});
  CHECK(parse_json_label("\"cat\"") == LabelText{kNoNumber, "cat"});
  CHECK(parse_json_label("{\"class_name\": \"cat\"}") == LabelText{kNoNumber, "cat"});
  for (const char* bad : {"1.5", "-1", "[1]", "null", "{\"label\": [1]}"})
    CHECK_FALSE(parse_json_label(bad));
}

TEST_CASE("braces count and list, and malformed ones are reported") {
  TempFolder t;
  for (const char* name : {"a8", "a9", "a10", "b-008", "b-009", "b-010", "c[1]"})
    t.write(name, "x");
  const auto names = [&](const std::string& pattern) {
    Texts found;
    for (const std::string& path : expand_pattern(t / pattern))
      found.push_back(path.substr(t.path().size() + 1));
    return found;
  };
  CHECK(names("a{8..10}") == Texts{"a8", "a9", "a10"});
  CHECK(names("b-{008..010}") == Texts{"b-008", "b-009", "b-010"});
  CHECK(names("{b-00,a}{8,9}") == Texts{"b-008", "b-009", "a8", "a9"});
  CHECK(names("{b*,a?}") == Texts{"b-008", "b-009", "b-010", "a8", "a9"});
  CHECK_FALSE(is_pattern(t / "c[1]"));
  CHECK_THROWS_WITH(names("a{8..11}"), Contains("a11") && Contains("does not exist"));
  CHECK_THROWS_WITH(names("a{9..8}"), Contains("{FIRST..LAST}"));
  CHECK_THROWS_WITH(names("a{x..y}"), Contains("{FIRST..LAST}"));
  CHECK_THROWS_WITH(names("a{0..9999999}"), Contains("million"));
  CHECK_THROWS_WITH(names("z*"), Contains("no file matches"));
  CHECK_THROWS_WITH(names("z*{0..10000}"), Contains("10,000 times"));  // would take hours
}
