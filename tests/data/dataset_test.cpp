#include "data/dataset.h"

#include <catch2/catch.hpp>

#include "data/loader/transform.h"
#include "data/sources/relabeled.h"
#include "data/sources/synthetic.h"
#include "tests/data/support.h"

using namespace shoal::data;

TEST_CASE("datasets are opened by kind") {
  TempFolder t;
  t.write("cat/1.jpg", "x");
  t.write("dog/1.jpg", "x");
  CHECK(open_dataset(t.path())->size() == 2);
  CHECK(open_dataset("folder:" + t.path())->classes() == std::vector<std::string>{"cat", "dog"});
  const auto made = open_dataset("synthetic:12:4:40x30");
  CHECK(made->size() == 12);
  CHECK(made->classes().size() == 4);
  CHECK(open_dataset("synthetic:5")->size() == 5);
  for (const char* bad : {"synthetic:", "synthetic:x", "synthetic:1:2:3", "synthetic:1:2:3x",
                          "synthetic:1:", "synthetic:0"})
    CHECK_THROWS_AS(open_dataset(bad), std::invalid_argument);
}

TEST_CASE("the hash of a listing depends on the files, not on the folder's path") {
  TempFolder t;
  for (const char* name :
       {"a/cat/1.jpg", "a/dog/1.jpg", "b/cat/1.jpg", "b/dog/1.jpg", "c/cat/1.jpg", "c/dog/2.jpg"})
    t.write(name, "x");
  const auto hash = [&](const std::string& folder) {
    return listing_hash(*open_dataset(t / folder), t / folder);
  };
  CHECK(hash("a") == hash("b"));
  CHECK(hash("a") != hash("c"));
  t.write("b/fox/1.jpg", "x");
  CHECK(hash("a") != hash("b"));
}

TEST_CASE("the classes of several hosts are united, and labels are renumbered") {
  using Names = std::vector<std::string>;
  CHECK(united_classes({{"cat", "fox"}, {"ant", "cat"}, {}}) == Names{"ant", "cat", "fox"});
  const Names ten = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  Names eleven;
  for (int i = 0; i < 11; ++i) eleven.push_back(i < 10 ? "0" + std::to_string(i) : "10");
  CHECK(united_classes({ten, eleven}) == eleven);
  TempFolder t;
  t.write("cat/1.jpg", "x");
  t.write("fox/1.jpg", "x");
  const auto all = with_classes(open_dataset(t.path()), {"ant", "cat", "dog", "fox"}, "all hosts");
  CHECK((all->label(0) == 1 && all->label(1) == 3));
  CHECK(all->classes().size() == 4);
  CHECK_THROWS_WITH(with_classes(open_dataset(t.path()), {"cat"}, "the model"),
                    Catch::Contains("of the model: 'fox'"));
  const auto numbers =
      with_classes(open_dataset("synthetic:4:2"), {"class_00000", "class_00001"}, "all hosts");
  CHECK(numbers->label(1) == 1);
}

TEST_CASE("different classes in training and validation are named") {
  TempFolder t;
  for (const char* name :
       {"a/cat/1.jpg", "a/dog/1.jpg", "b/cat/1.jpg", "b/fox/1.jpg", "c/cat/1.jpg"})
    t.write(name, "x");
  const auto a = open_dataset(t / "a"), b = open_dataset(t / "b"), c = open_dataset(t / "c");
  CHECK_NOTHROW(check_same_classes(*a, *a));
  CHECK_THROWS_WITH(check_same_classes(*a, *b),
                    Catch::Contains("only in training: 'dog'; only in validation: 'fox'"));
  CHECK_THROWS_WITH(check_same_classes(*a, *c), Catch::EndsWith("only in training: 'dog'"));
  CHECK_THROWS_AS(check_same_classes(*c, *a), std::invalid_argument);
}

TEST_CASE("classes that differ only in case are named") {
  CHECK(case_warning({"Cats", "cat", "dog"}).empty());
  CHECK_THAT(case_warning({"CAT", "Dog", "cat", "cow", "dog"}),
             Catch::Contains("'CAT' and 'cat', 'Dog' and 'dog'") && !Catch::Contains("cow"));
}

TEST_CASE("synthetic images are reproducible, can be decoded, and differ between classes") {
  SyntheticOptions options;
  options.images = 20;
  options.classes = 5;
  options.width = 50;
  options.height = 40;
  const auto first = make_synthetic(options), second = make_synthetic(options);
  Transform transform({});
  Bytes a, b, row(224 * 224 * 3);
  for (int64_t i = 0; i < 20; ++i) {
    first->read(i, a);
    second->read(i, b);
    CHECK(a == b);
    CHECK(first->label(i) == i % 5);
    CHECK_NOTHROW(transform.evaluation_row(a, row.data()));
  }
  first->read(0, a);
  first->read(1, b);
  CHECK(a != b);
}
