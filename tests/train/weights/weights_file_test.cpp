// Reads weights files of shoal and of other programs (tests/golden/scripts/make_weights.py).
#include "train/weights/weights_file.h"

#include <ATen/ops/full.h>

#include <catch2/catch.hpp>
#include <set>
#include <stdexcept>

#include "train/checkpoint/checkpoint_store.h"
#include "train/job/job.h"
#include "train/weights/formats/safetensors.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

std::vector<char> weights_golden(const std::string& name) {
  return read_whole_file(SHOAL_SOURCE_DIR "/tests/golden/weights/" + name);
}

template <class Content, class Write>
std::vector<char> bytes_of(const Content& content, const Write& write) {
  std::vector<char> bytes;
  write(content, [&](const void* part, size_t size) {
    const auto* begin = static_cast<const char*>(part);
    bytes.insert(bytes.end(), begin, begin + size);
  });
  return bytes;
}

std::vector<char> saved_run(bool averaged) {
  CheckpointData data;
  data.model = {{"fc.weight", at::full({2, 3}, 1.0F)}, {"bn.running_mean", at::full({9}, 1.0F)}};
  if (averaged) data.ema = {{"fc.weight", at::full({2, 3}, 2.0F)}};
  data.integers = {{"epoch", 3}, {"step", 12}};
  data.text = {{"arch", "toy"}};
  return bytes_of(data, write_checkpoint);
}

}  // namespace

TEST_CASE("state dicts without num_batches_tracked get counters of 0") {
  for (const char* name : {"old.pth", "timm_ema.pth.tar"}) {
    INFO(name);
    const OpenedCheckpoint opened = read_weights(weights_golden(name), name);
    const NamedTensors& tensors = opened.data.ema.empty() ? opened.data.model : opened.data.ema;
    int found = 0;
    for (const auto& [key, value] : tensors) {
      if (key != "bn1.num_batches_tracked") continue;
      ++found;
      CHECK(value.dim() == 0);
      CHECK(value.item<int64_t>() == 0);
    }
    CHECK(found == 1);
  }
  Safetensors content;
  content.tensors = {{"bn.running_mean", at::full({2}, 1.0F)}};
  const auto opened = read_weights(bytes_of(content, write_safetensors), "x.safetensors");
  CHECK(opened.data.model.back().first == "bn.num_batches_tracked");
}

TEST_CASE("the origin names the entry and its number of parameters without buffers") {
  CHECK(read_weights(weights_golden("timm_ema.pth.tar"), "x").origin() ==
        "weights of x (entry state_dict_ema, 19 parameters)");
  CHECK(read_weights(weights_golden("reference_ema.pth"), "x").contents() ==
        "entry model_ema, 19 parameters");
  CHECK(read_weights(weights_golden("old.pth"), "x").contents() == "19 parameters");
  const OpenedCheckpoint ours = read_weights(saved_run(true), "x");
  CHECK(ours.contents() == "epoch 3, step 12, entry ema, 6 parameters");
  CHECK(ours.is_ours());
  CHECK_FALSE(read_weights(weights_golden("old.pth"), "x").is_ours());
}

TEST_CASE("a checkpoint's averaged weights are used unless the others are requested") {
  CHECK_FALSE(read_weights(saved_run(true), "x").data.ema.empty());
  CHECK_FALSE(read_weights(saved_run(true), "x", "ema").data.ema.empty());
  CHECK(read_weights(saved_run(true), "x", "model").data.ema.empty());
  CHECK(read_weights(saved_run(false), "x").entry == "model");
  CHECK_THROWS_WITH(read_weights(saved_run(false), "x", "ema"),
                    Contains("no entry 'ema'") && Contains("only model"));
  CHECK_THROWS_AS(read_weights(saved_run(true), "x", "state_dict"), UserError);
  Safetensors content;
  content.tensors = {{"fc.weight", at::full({2}, 1.0F)}};
  CHECK_THROWS_AS(read_weights(bytes_of(content, write_safetensors), "x", "ema"), UserError);
}

TEST_CASE("averaged weights of another program are read as averaged weights") {
  const OpenedCheckpoint opened = read_weights(weights_golden("timm_ema.pth.tar"), "x");
  CHECK(opened.data.model.empty());
  CHECK(opened.data.ema.front().second.mean().item<double>() == 2);
}

TEST_CASE("only weights files are recognized as such") {
  for (const char* name : {"old.pth", "legacy.pth", "whole.pth"})
    CHECK(is_weights_file(weights_golden(name)));
  CHECK_FALSE(is_weights_file(weights_golden("values2.pkl")));
  CHECK_FALSE(is_weights_file({}));
}
