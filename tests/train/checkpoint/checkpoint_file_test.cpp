#include "train/checkpoint/checkpoint_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

using namespace shoal::train;

namespace {

CheckpointData example() {
  CheckpointData data;
  data.model = {{"fc.weight", at::arange(100000)}, {"fc.bias", at::arange(10)}};
  data.optimizer = {{"momentum", {{"fc.weight", at::arange(7)}}}};
  data.integers = {{"epoch", 3}, {"step", 12}};
  data.numbers = {{"best_top1", 76.5}};
  data.text = {{"arch", "toy"}};
  data.settings = {{"lr", "0.1"}};
  data.classes = {"cat", "dog"};
  return data;
}

std::vector<char> written(const CheckpointData& data) {
  std::vector<char> bytes;
  write_checkpoint(data, [&](const void* part, size_t size) {
    const auto* begin = static_cast<const char*>(part);
    bytes.insert(bytes.end(), begin, begin + size);
  });
  return bytes;
}

}  // namespace

TEST_CASE("what is written is read back") {
  const CheckpointData data = example();
  const CheckpointData back = read_checkpoint(written(data), "here");
  REQUIRE(back.model.size() == 2);
  CHECK(back.model[0].first == "fc.weight");
  CHECK(at::equal(back.model[0].second, data.model[0].second));
  CHECK(at::equal(back.optimizer.at(0).second.at(0).second, at::arange(7)));
  CHECK(back.integer("step") == 12);
  CHECK(back.number("best_top1") == 76.5);
  CHECK(back.string("arch") == "toy");
  CHECK(back.settings == data.settings);
  CHECK(back.classes == data.classes);
  CHECK_THROWS_WITH(back.integer("samples"), Catch::Contains("samples"));
}

TEST_CASE("the same data has the same bytes") {
  CHECK(written(example()) == written(example()));
}

TEST_CASE("a disk that fills up at any moment is an exception and not the end of the program") {
  const size_t whole = written(example()).size();
  for (const size_t room : {size_t{0}, size_t{1}, whole / 2, whole - 1}) {
    size_t used = 0;
    const auto sink = [&](const void*, size_t size) {
      used += size;
      if (used > room) throw std::runtime_error("No space left on device");
    };
    CHECK_THROWS_WITH(write_checkpoint(example(), sink), Catch::Contains("No space left"));
  }
}

TEST_CASE("other bytes are named and refused") {
  const std::string text = "{\"event\": \"train\"}";
  CHECK_THROWS_WITH(read_checkpoint({text.begin(), text.end()}, "history.jsonl"),
                    "history.jsonl is not a checkpoint of shoal, or it is damaged");
}
