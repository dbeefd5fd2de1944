#include "data/dataset.h"

#include <catch2/catch.hpp>

#include "data/synthetic.h"
#include "data/transform.h"
#include "support.h"

using namespace shoal::data;

TEST_CASE("datasets are opened by kind") {
  TempFolder t;
  t.write("cat/1", "x");
  t.write("dog/1", "x");
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

TEST_CASE("different classes in training and validation are named") {
  TempFolder t;
  for (const char* name : {"a/cat/1", "a/dog/1", "b/cat/1", "b/fox/1", "c/cat/1"})
    t.write(name, "x");
  const auto a = open_dataset(t / "a"), b = open_dataset(t / "b"), c = open_dataset(t / "c");
  CHECK_NOTHROW(check_same_classes(*a, *a));
  CHECK_THROWS_WITH(check_same_classes(*a, *b),
                    Catch::Contains("only in training: 'dog'; only in validation: 'fox'"));
  CHECK_THROWS_WITH(check_same_classes(*a, *c), Catch::EndsWith("only in training: 'dog'"));
  CHECK_THROWS_AS(check_same_classes(*c, *a), std::invalid_argument);
}

TEST_CASE("synthetic pictures are the same every time, decode, and differ between classes") {
  SyntheticOptions options;
  options.pictures = 20;
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
