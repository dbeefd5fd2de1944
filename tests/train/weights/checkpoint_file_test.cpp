#include "train/weights/checkpoint_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <cmath>
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

TEST_CASE("a checkpoint is read back as it was written") {
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

TEST_CASE("tensors of every kind and extreme numbers come back bit for bit") {
  CheckpointData data = example();
  data.model.clear();
  for (const auto type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                          at::kShort, at::kChar, at::kByte, at::kBool})
    data.model.emplace_back(std::string("as ") + c10::toString(type), at::arange(6).to(type));
  data.model.emplace_back("scalar", at::arange(8)[7]);
  data.model.emplace_back("empty", at::arange(0));
  data.model.emplace_back("4-D", at::arange(120, at::kFloat).view({2, 3, 4, 5}));
  data.ema = {{"fc.bias", at::arange(3)}};
  data.integers = {{"zero", 0},      {"byte", 255},         {"short", 65535},
                   {"negative", -1}, {"lowest", INT64_MIN}, {"highest", INT64_MAX}};
  data.numbers = {
      {"tenth", 0.1}, {"negative zero", -0.0}, {"infinity", INFINITY}, {"least", 5e-324}};
  data.text["long"] = std::string(1000, 'x') + "\n\"é\"";
  const CheckpointData back = read_checkpoint(written(data), "here");
  REQUIRE(back.model.size() == data.model.size());
  for (size_t i = 0; i < data.model.size(); ++i) {
    CHECK(back.model[i].first == data.model[i].first);
    CHECK(back.model[i].second.scalar_type() == data.model[i].second.scalar_type());
    CHECK(back.model[i].second.sizes() == data.model[i].second.sizes());
    CHECK(back.model[i].second.is_contiguous());
    CHECK(at::equal(back.model[i].second, data.model[i].second));
  }
  CHECK(back.ema.size() == 1);
  CHECK(back.integers == data.integers);
  CHECK(back.numbers == data.numbers);
  CHECK(std::signbit(back.number("negative zero")));
  CHECK(back.text == data.text);
}

TEST_CASE("a truncated or damaged checkpoint gives an error or other values, but never crashes") {
  const std::vector<char> whole = written(example());
  for (size_t size = 0; size < whole.size(); size += 4999) {
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<int64_t>(size));
    CHECK_THROWS_WITH(read_checkpoint(part, "x.pt"), Catch::StartsWith("x.pt is not a checkpoint"));
  }
  for (size_t at = 0; at < 2000; ++at) {  // these bytes contain the header and the pickle
    std::vector<char> bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    try {
      read_checkpoint(bytes, "x.pt");
    } catch (const std::runtime_error&) {
    }
  }
}

TEST_CASE("the same data has the same bytes") {
  CHECK(written(example()) == written(example()));
}

TEST_CASE("a full disk throws an exception at any point of the file") {
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

TEST_CASE("a file of another kind is refused by name") {
  const std::string text = "{\"event\": \"train\"}";
  CHECK_THROWS_WITH(read_checkpoint({text.begin(), text.end()}, "history.jsonl"),
                    Catch::Contains("history.jsonl") && Catch::Contains("zip"));
}
