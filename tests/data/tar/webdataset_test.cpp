#include "data/tar/webdataset.h"

#include <catch2/catch.hpp>

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

TEST_CASE("a file between an image and its label does not hide the label") {
  const TempFolder t;
  t.write("a-0.tar", make_tar({{"1.cls", "2"}, {"1.id.npy", "x"}, {"1.jpg", "a"}}));
  t.write("a-1.tar", make_tar({{"2.cls", "0"}, {"2.depth.png", "x"}, {"2.jpg", "b"}}));
  CHECK(described(*open_dataset(t / "a-{0..1}.tar")) == Texts{"2 2 1.jpg a", "0 0 2.jpg b"});
  t.write("b-0.tar", make_tar({{"1.jpg", "a"}, {"label-1.cls", "2"}}));
  t.write("b-1.tar", make_tar({{"2.jpg", "b"}, {"label-2.cls", "0"}}));
  CHECK_THAT(message_of(t / "b-{0..1}.tar"), Contains("same name before the first dot"));
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

TEST_CASE("incomplete samples are refused, and the error names them") {
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
  CHECK_THAT(refused({{"photo.1.JPG", "x"}, {"photo.1.cls", "1"}}),
             Contains("photo.1.JPG is not read as an image") && Contains("'photo' is its key") &&
                 Contains("'1.jpg'"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.cls", "-1"}}), Contains("1.cls has no label"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.json", "{\"a\": 1}"}}), Contains("has no label"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.json", "{"}}), Contains("1.json has no label"));
  CHECK_THAT(refused({{"1.jpg", "x"}, {"1.cls", "cat"}}), Contains("of the same kind"));
  // A tar in which no image has a label is not read as WebDataset.
  t.write("c.tar", make_tar({{"photo.1.jpg", "x"}, {"photo.1.cls", "1"}}));
  CHECK_THAT(message_of(t / "c.tar"), Contains("without classes") && Contains("first dot"));
  OpenOptions options;
  options.labels = "labels.txt";
  t.write("b.tar", make_tar(good));
  CHECK_THAT(message_of(t / "b.tar", options), Contains("remove --val-labels"));
}
