// Reads pickles written by Python (tests/golden/scripts/make_weights.py).
#include "train/weights/formats/pickle.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/support/files.h"

using shoal::train::Pickle;
using shoal::train::PickleValue;
using PickleKind = PickleValue::Kind;

namespace {

std::string golden(int protocol) {
  return shoal::test::read_text(SHOAL_SOURCE_DIR "/tests/golden/weights/values" +
                                std::to_string(protocol) + ".pkl");
}

std::vector<int64_t> integers(const PickleValue& sequence) {
  std::vector<int64_t> values;
  for (const PickleValue* item : sequence.items)
    if (item->kind == PickleKind::integer) values.push_back(item->integer);
  return values;
}

}  // namespace

TEST_CASE("pickles of all protocols are read") {
  for (const int protocol : {2, 3, 4, 5}) {
    INFO(protocol);
    const std::string bytes = golden(protocol);
    const Pickle pickle(bytes.data(), bytes.size());
    const PickleValue& root = pickle.root();
    REQUIRE(root.kind == PickleKind::dict);
    const int64_t large = int64_t{1} << 40;
    const std::vector<int64_t> numbers = {0, 255, 256, 65536, -1, large, -large, 1, 0};
    CHECK(integers(*root.find("numbers")) == numbers);
    CHECK(root.find("numbers")->items.size() == 10);
    CHECK(root.find("numbers again") == root.find("numbers"));
    for (const PickleValue* item : root.find("other")->items)
      CHECK(item->kind != PickleKind::integer);
    const auto& tuples = root.find("tuples")->items;
    REQUIRE(tuples.size() == 5);
    for (size_t i = 0; i < 5; ++i) CHECK(tuples[i]->items.size() == i);
    CHECK(integers(*tuples[4]) == std::vector<int64_t>{1, 2, 3, 4});
    REQUIRE(root.find("ordered")->find("one") != nullptr);
    CHECK(root.find("ordered")->find("one")->integer == 1);
    CHECK(root.find("object")->kind == PickleKind::call);
    CHECK(root.find("object")->text == "argparse Namespace");
    CHECK(root.find("long text")->text == std::string(300, 'x'));
    CHECK(root.find("nothing") == nullptr);
  }
}

TEST_CASE("the items of an OrderedDict may be arguments, as Python 2 writes them") {
  // OrderedDict([["a", 1]])
  const std::string bytes(
      "\x80\x02"
      "ccollections\nOrderedDict\n](](X\x01\0\0\0aK\x01"
      "ee\x85R.",
      44);
  const Pickle pickle(bytes.data(), bytes.size());
  REQUIRE(pickle.root().find("a") != nullptr);
  CHECK(pickle.root().find("a")->integer == 1);
}

TEST_CASE("a truncated or damaged pickle gives an error or another value, but never crashes") {
  for (const int protocol : {2, 4}) {
    const std::string whole = golden(protocol);
    for (size_t size = 0; size < whole.size(); ++size)
      CHECK_THROWS_AS(Pickle(whole.data(), size), std::runtime_error);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int flipped : {1, 4, 16, 64, 255}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ flipped);
        try {
          const Pickle pickle(bytes.data(), bytes.size());
          CHECK(pickle.root().items.size() < 1000);
        } catch (const std::runtime_error&) {
        }
      }
    }
  }
}

TEST_CASE("deeply nested lists and a list that contains itself are read") {
  std::string deep = "\x80\x02" + std::string(1000000, ']') + std::string(999999, 'a') + ".";
  CHECK(Pickle(deep.data(), deep.size()).root().items.size() == 1);
  const std::string circle =
      "\x80\x02]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a.";
  const Pickle pickle(circle.data(), circle.size());
  CHECK(pickle.root().items[0] == &pickle.root());
}

TEST_CASE("a small pickle cannot take more than the stated memory", "[slow][single]") {
  const auto pickle_of = [](const std::string& opcodes, const std::string& repeated, int times) {
    std::string bytes = "\x80\x02" + opcodes;
    for (int i = 0; i < times; ++i) bytes += repeated;
    return bytes + ".";
  };
  const std::string tuple = "(" + std::string(30000, 'N') + "tq\1";
  // Each of 2,000 calls copies its 30,000 arguments: 60 million pointers from a pickle of 40 kB.
  const std::string calls = pickle_of(tuple + "cmodule\nname\nq\2", "h\2h\1R", 2000);
  CHECK_THROWS_WITH(Pickle(calls.data(), calls.size()), Catch::Contains("more memory"));
  // Each persistent id copies its arguments too.
  const std::string ids = pickle_of(tuple, "h\1Q", 2000);
  CHECK_THROWS_WITH(Pickle(ids.data(), ids.size()), Catch::Contains("more memory"));
  // Each name consists of the previous name twice, so the length doubles 40 times.
  const std::string doubled = pickle_of("cm\nn\nq\1", "h\1h\1\x93q\1", 40);
  CHECK_THROWS_WITH(Pickle(doubled.data(), doubled.size()), Catch::Contains("more memory"));
  const std::string memo = "\x80\x04N" + std::string(6'000'000, '\x94') + ".";
  CHECK_THROWS_WITH(Pickle(memo.data(), memo.size()), Catch::Contains("more memory"));
}
