#include "train/weights/formats/safetensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace shoal::train;
using Catch::Contains;

namespace {

std::vector<char> written(const Safetensors& content) {
  std::vector<char> bytes;
  write_safetensors(content, [&](const void* part, size_t size) {
    const auto* begin = static_cast<const char*>(part);
    bytes.insert(bytes.end(), begin, begin + size);
  });
  return bytes;
}

Safetensors two_tensors() {
  const at::Tensor weight = at::arange(24, at::kFloat).reshape({2, 3, 2, 2});
  return {{{"conv.weight", weight.contiguous(at::MemoryFormat::ChannelsLast)},
           {"bn.num_batches_tracked", at::tensor(int64_t{7}).reshape({})},
           {"fc.bias", at::tensor({0.5, -0.25}, at::kDouble)}},
          {{"arch", "toy"}, {"quoted", "\"a\"\n"}}};
}

// Returns a file with this header and `data` bytes after it.
std::vector<char> file(const std::string& header, size_t data) {
  std::vector<char> bytes(8 + header.size() + data);
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  std::copy(header.begin(), header.end(), bytes.begin() + 8);
  return bytes;
}

}  // namespace

TEST_CASE("a safetensors file has the format's layout, byte by byte") {
  const std::vector<char> bytes = written(two_tensors());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);  // little-endian, like this machine
  REQUIRE(length % 8 == 0);
  REQUIRE(length + 8 < bytes.size());
  const auto header = nlohmann::json::parse(
      bytes.begin() + 8, bytes.begin() + 8 + static_cast<std::ptrdiff_t>(length));
  CHECK(header["__metadata__"]["arch"] == "toy");
  const auto& weight = header["conv.weight"];
  CHECK(weight["dtype"] == "F32");
  CHECK(weight["shape"] == nlohmann::json({2, 3, 2, 2}));
  CHECK(weight["data_offsets"] == nlohmann::json({8, 104}));
  CHECK(header["bn.num_batches_tracked"]["dtype"] == "I64");
  CHECK(header["bn.num_batches_tracked"]["shape"] == nlohmann::json::array());
  // Integers come first, so that all tensors are aligned.
  CHECK(header["bn.num_batches_tracked"]["data_offsets"] == nlohmann::json({0, 8}));
  CHECK(header["fc.bias"]["dtype"] == "F32");
  CHECK(bytes.size() == 8 + length + 112);
  float values[24];  // row-major, although the tensor is channels-last
  std::memcpy(values, bytes.data() + 8 + length + 8, sizeof values);
  for (int i = 0; i < 24; ++i) CHECK(values[i] == static_cast<float>(i));
}

TEST_CASE("tensors and metadata are read back") {
  const Safetensors back = read_safetensors(written(two_tensors()), "here");
  REQUIRE(back.tensors.size() == 3);
  CHECK(back.tensors[1].first == "conv.weight");
  CHECK(at::equal(back.tensors[1].second, two_tensors().tensors[0].second));
  CHECK(back.tensors[0].second.item<int64_t>() == 7);  // integers come first
  CHECK(at::equal(back.tensors[2].second, at::tensor({0.5F, -0.25F})));
  CHECK(back.metadata == two_tensors().metadata);
}

TEST_CASE("a truncated file is an error, never a crash") {
  const std::vector<char> whole = written(two_tensors());
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_THROWS_AS(read_safetensors(cut, "cut.safetensors"), std::runtime_error);
  }
  CHECK_THROWS_WITH(read_safetensors({}, "cut.safetensors"), Contains("cut.safetensors"));
}

TEST_CASE("contradictory headers are refused") {
  const auto read = [](const std::string& header, size_t data) {
    return read_safetensors(file(header, data), "x");
  };
  CHECK_NOTHROW(read(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  CHECK_THROWS(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4));
  CHECK_THROWS(read(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4));
  CHECK_THROWS(read(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", 8));
  CHECK_THROWS(read(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4));
  CHECK_THROWS(
      read(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4));
  CHECK_THROWS_WITH(read(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,4]}})", 4),
                    Contains("C64"));
  CHECK_THROWS(read(R"({"a":3})", 4));
  CHECK_THROWS(read(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4));
  CHECK_THROWS(
      read(R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 4));
  CHECK_THROWS_WITH(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                             "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                         12),
                    Contains("overlap"));
  CHECK_THROWS(read("{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}", 4));
  CHECK_FALSE(is_safetensors(file("PK", 100)));
  CHECK(is_safetensors(written(two_tensors())));
}

TEST_CASE("a header above the limit is refused before it is parsed") {
  // Blanks after the object are valid JSON, so only the limit refuses the larger header.
  const auto padded = [](size_t size) {
    std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    header.resize(size, ' ');
    return file(header, 4);
  };
  constexpr size_t kLimit = size_t{10} << 20;
  CHECK_NOTHROW(read_safetensors(padded(kLimit), "x"));
  CHECK_THROWS_WITH(read_safetensors(padded(kLimit + 1), "large.safetensors"),
                    Contains("large.safetensors") && Contains("10 MiB"));
}
