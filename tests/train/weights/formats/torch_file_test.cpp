// Reads files written by Python's torch.save() (tests/golden/scripts/make_weights.py).
#include "train/weights/formats/torch_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>

#include "train/checkpoint/checkpoint_store.h"
#include "train/job/job.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

std::vector<char> golden(const std::string& name) {
  return read_whole_file(SHOAL_SOURCE_DIR "/tests/golden/weights/" + name);
}

}  // namespace

TEST_CASE("state dicts are read from files of torchvision, timm and the ImageNet example") {
  for (const char* name : {"state_dict.pth", "example.pth.tar", "reference.pth", "legacy.pth",
                           "legacy3.pth", "legacy4.pth", "legacy5.pth"}) {
    INFO(name);
    const NamedTensors list = read_torch_file(golden(name), name).tensors;
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

TEST_CASE("averaged weights are preferred, and any entry can be chosen by name") {
  struct Case {
    const char *file, *wanted, *entry;
    double value;  // of every tensor in the entry
    bool averaged;
  };
  for (const Case& one :
       {Case{"old.pth", "", "", 1, false}, Case{"reference_ema.pth", "", "model_ema", 2, true},
        Case{"reference_ema.pth", "model", "model", 1, false},
        Case{"timm_ema.pth.tar", "", "state_dict_ema", 2, true},
        Case{"timm_ema.pth.tar", "state_dict", "state_dict", 1, false},
        Case{"nested_ema.pth", "", "ema.module", 2, true},
        Case{"nested_ema.pth", "ema", "ema.module", 2, true},
        Case{"nested_ema.pth", "model", "model", 1, false}, Case{"single.pth", "", "net", 1, false},
        Case{"unknown.pth", "critic", "critic", 2, false}}) {
    INFO(one.file << " " << one.wanted);
    const StateDict found = read_torch_file(golden(one.file), one.file, one.wanted);
    CHECK(found.entry == one.entry);
    CHECK(found.averaged == one.averaged);
    const std::map<std::string, at::Tensor> tensors(found.tensors.begin(), found.tensors.end());
    CHECK(tensors.at("conv1.weight").sizes() == at::IntArrayRef({2, 3, 1, 1}));
    CHECK(tensors.at("fc.bias")[2].item<double>() == one.value);
  }
}

TEST_CASE("a missing or ambiguous entry lists the available ones") {
  const auto message = [](const char* name, const char* entry) {
    try {
      read_torch_file(golden(name), name, entry);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(message("unknown.pth", ""), Contains("unknown.pth") && Contains("generator, critic") &&
                                             Contains("--weights-entry NAME"));
  CHECK_THAT(message("timm_ema.pth.tar", "ema"), Contains("no entry 'ema'") &&
                                                     Contains("state_dict, state_dict_ema") &&
                                                     Contains("--weights-entry NAME"));
  CHECK_THAT(message("old.pth", "model"), Contains("--weights-entry"));
}

TEST_CASE("the error for a pickled model explains how to save its weights") {
  const std::pair<const char*, const char*> cases[] = {
      {"whole.pth", "torch.nn.modules.linear.Linear"},
      {"whole_inside.pth", "torch.nn.modules.linear.Linear"},
      {"script.pt", "__torch__.torch.nn.modules.linear.Linear"}};
  for (const auto& [file, name] : cases) {
    INFO(file);
    CHECK_THROWS_AS(read_torch_file(golden(file), file), UserError);
    CHECK_THROWS_WITH(
        read_torch_file(golden(file), file),
        Contains(file) && Contains(name) && Contains("torch.save(model.state_dict(), "));
  }
}

TEST_CASE(
    "files without weights and damaged files are refused by name, without LibTorch internals") {
  const auto message = [](const std::vector<char>& bytes) {
    try {
      read_torch_file(bytes, "FILE");
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(message(golden("nothing.pth")), Contains("FILE") && Contains("no state dict"));
  CHECK_THAT(message({}), Contains("FILE"));
  const auto is_ours = [](const std::string& text) {
    for (const char* words : {"INTERNAL", "at()", "PytorchStreamReader", "PyTorch.", "c10"})
      if (text.find(words) != text.npos) return false;
    return true;
  };
  for (const char* name : {"example.pth.tar", "legacy.pth"}) {
    const std::vector<char> whole = golden(name);
    for (size_t size = 0; size < whole.size(); size += 61) {
      const std::string text = message({whole.begin(), whole.begin() + static_cast<int64_t>(size)});
      CHECK_THAT(text, Contains("FILE"));
      CHECK(is_ours(text));
    }
    for (size_t at = 0; at < whole.size(); at += 7) {  // must not crash; other values are allowed
      std::vector<char> bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x15);
      const std::string text = message(bytes);
      INFO(text);
      CHECK(is_ours(text));
    }
  }
}
