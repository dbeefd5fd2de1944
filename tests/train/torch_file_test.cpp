// Files that Python's torch.save wrote: tests/golden/make_weights.py.
#include "train/torch_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>

#include "train/checkpoint_store.h"

using namespace shoal::train;
using Catch::Contains;

// LibTorch's reader of archives does not free what it has learnt of one that it then refuses.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:mz_zip_reader_";
}

namespace {

std::vector<char> golden(const std::string& name) {
  return read_whole_file(SHOAL_SOURCE_DIR "/tests/golden/weights/" + name);
}

}  // namespace

TEST_CASE(
    "state dicts are read from files as torchvision, timm and the imagenet example write them") {
  for (const char* name : {"state_dict.pth", "example.pth.tar", "reference.pth"}) {
    INFO(name);
    const NamedTensors list = read_torch_file(golden(name), name);
    const std::map<std::string, at::Tensor> tensors(list.begin(), list.end());
    REQUIRE(tensors.size() == 10);
    const auto check = [&](const char* key, const at::Tensor& expected) {
      INFO(key);
      const at::Tensor& got = tensors.at(key);
      CHECK(got.scalar_type() == expected.scalar_type());
      CHECK(got.sizes() == expected.sizes());
      CHECK(got.is_contiguous());
      CHECK(at::equal(got, expected));
    };
    const at::Tensor base = at::arange(24, at::kFloat);
    check("matrix", base.reshape({4, 6}));
    check("transposed", base.reshape({4, 6}).t());
    check("part", base.slice(0, 6, 12));
    check("every_second", base.slice(0, 0, 24, 2));
    check("halves", at::arange(5, at::kHalf));
    check("bfloat", at::arange(5, at::kBFloat16));
    check("doubles", at::arange(3, at::kDouble));
    check("parameter", at::arange(4, at::kFloat));
    CHECK(tensors.at("count").dim() == 0);
    CHECK(tensors.at("count").item<int64_t>() == 7);
    CHECK(tensors.at("empty").sizes() == at::IntArrayRef({0, 3}));
  }
}

TEST_CASE("files without weights, of the old format or damaged are refused by name") {
  const auto message = [](const std::vector<char>& bytes) {
    try {
      read_torch_file(bytes, "FILE");
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(message(golden("nothing.pth")), Contains("FILE") && Contains("no state dict"));
  CHECK_THAT(message(golden("legacy.pth")), Contains("FILE"));
  CHECK_THAT(message({}), Contains("FILE"));
  const std::vector<char> whole = golden("example.pth.tar");
  for (size_t size = 0; size < whole.size(); size += 61)
    CHECK_THAT(message({whole.begin(), whole.begin() + static_cast<int64_t>(size)}),
               Contains("FILE"));
  for (size_t at = 0; at < whole.size(); at += 7) {  // an error or other numbers
    std::vector<char> bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x15);
    message(bytes);
  }
}
